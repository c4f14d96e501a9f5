"""The RESP protocol: parses requests, encodes replies, and holds the error texts."""
