"""What all sub-commands of `rillway` share: arguments, errors of usage, completion, colour."""
