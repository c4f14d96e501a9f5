"""`link`: a connection to an empty server, Rillway and redis-server in turn."""

from tests.rillway.pipeline.conftest import link

__all__ = ["link"]
