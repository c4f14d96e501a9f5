"""Commands about the connection and the clients."""
