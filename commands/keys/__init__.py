"""Commands on keys of any type."""
