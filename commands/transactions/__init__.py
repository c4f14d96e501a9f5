"""MULTI, EXEC and WATCH."""
