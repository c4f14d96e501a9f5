"""What each command means: one plain function per command, no I/O, no clock, no chance."""
