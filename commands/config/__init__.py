"""Configuration directives.

configuration:   the table of directives
directive_kinds: values as text and back
absent_features: directives of features that are missing
redaction:       requests without passwords, for logs
"""
