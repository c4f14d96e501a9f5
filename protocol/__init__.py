"""RESP and nothing else: bytes to argv, values to bytes, error texts."""
