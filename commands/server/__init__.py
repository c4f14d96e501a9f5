"""Commands about the server itself."""
