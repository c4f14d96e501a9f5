"""Answering: puts a reply or a refusal into a client's output, unless the client gets none.

CLIENT REPLY drops replies, a replica gets none, and an error of a primary's request is kept for the
log. While a transaction is open, a refusal aborts it.
"""

from __future__ import annotations

import cython

from commands.core.client import Client
from commands.core.gates import GATE_MULTI, GATE_PRIMARY, GATE_REPLICA, GATE_SILENT
from commands.core.instance import Instance
from commands.core.registry import Command
from commands.transactions.transaction import Transaction, exec_refused
from protocol.errors import ReplyError
from server.replication.replica.reception import note_error_for_primary, refuse_reply_to_replica
from server.requests.command_clock import CommandClock

_PRIMARY: cython.long = GATE_PRIMARY
_REPLICA: cython.long = GATE_REPLICA
_SILENT: cython.long = GATE_SILENT


@cython.cclass
class Answering:
    """Answers the requests of one instance."""

    def __init__(self, instance: Instance, clock: CommandClock) -> None:
        self._instance = instance
        self._clock = clock

    def answer(self, client: Client, reply: bytes, position: cython.Py_ssize_t) -> None:
        """Insert a reply before the messages that its own command sent to the client.

        CLIENT REPLY OFF drops replies; SKIP drops the one after its own. A replica gets none.
        """
        if client.gates & _PRIMARY and reply.startswith(b"-"):
            note_error_for_primary(client, reply)
        if client.gates & _REPLICA:
            if reply:
                refuse_reply_to_replica(client, reply)
        elif not client.gates & _SILENT:
            client.output.insert(position, reply)
        elif client.reply_mode == b"SKIP_NEXT":
            client.reply_mode = b"SKIP"
            client.output.insert(position, reply)
        elif client.reply_mode == b"SKIP":
            client.reply_mode = b"ON"
            client.gates &= ~GATE_SILENT

    def reject(self, client: Client, command: Command | None, error: ReplyError) -> None:
        """Answer an error to a request that does not run; an open transaction will abort."""
        stats = self._instance.stats
        stats.count_error(error.code)
        if command is not None:
            stats.of(command).rejected_calls += 1
        if command is not None and command.fullname == b"exec":
            error = exec_refused(client, error)
        elif client.gates & GATE_MULTI:
            client.feature(Transaction).is_refused = True
        else:
            client.is_asking = False
        self.answer(client, error.wire, len(client.output))
        self._clock.mark()
