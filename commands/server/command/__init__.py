"""COMMAND: the table of commands, their documentation, and the keys of a request."""
