"""Configuration directives.

configuration:   the table of directives
directive_kinds: values as text and back
absent_features: directives of features that are missing
output_limits:   client-output-buffer-limit
redaction:       requests without passwords, for logs
"""
