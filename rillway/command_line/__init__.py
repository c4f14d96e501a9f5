"""Shared parts of the sub-commands of `rillway`: arguments, usage errors, output, completion."""
