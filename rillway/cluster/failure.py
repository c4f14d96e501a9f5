"""What a user is told when something of a cluster cannot be done."""

from __future__ import annotations


class ClusterFailed(Exception):
    """The text is a sentence for the user: what is wrong, and what to do."""


class NoPassword(ClusterFailed):
    """A node asks for a password, and we have none or another."""


class NotReady(ClusterFailed):
    """A node cannot be reached, or answers with an error; perhaps it does better later."""
