"""Commands on places on a map, which sorted sets hold."""
