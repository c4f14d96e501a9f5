"""Libraries of functions: FUNCTION, FCALL, and what they keep."""
