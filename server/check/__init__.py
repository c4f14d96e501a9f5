"""`rillway check`: inspects data files, reports damage, and truncates a torn end."""
