"""`rillway restart`: moves the primary's role under Sentinel before its server restarts."""
