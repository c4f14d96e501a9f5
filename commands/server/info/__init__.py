"""INFO: its sections, and the figures that they print."""
