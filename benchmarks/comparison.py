"""Measures a case: both servers side by side, alternating, A B A B."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.cases.case import Case, Figures, Session
from benchmarks.contenders import Contender, Scale, end_shared
from benchmarks.figures import Result
from benchmarks.servers import ServerError

SHOWN_BYTES = 200


def compare(case: Case, contenders: Sequence[Contender], scale: Scale) -> list[Result]:
    """A result for each row. Raises what a server or a load raises."""
    results = {row.name: Result(row) for row in case.rows}
    if not case.is_shared:
        end_shared(contenders)
    with ExitStack() as stack:
        sessions = [
            (contender, stack.enter_context(case.open(contender, scale)))
            for contender in contenders
            if has_case(contender, case)
        ]
        _check_replies([session for _, session in sessions])
        if case.has_warm_up:
            for contender, session in sessions:
                _measured(contender, session)
        for _ in range(case.pairs(scale)):
            for contender, session in sessions:
                for name, figure in _measured(contender, session).items():
                    result = results[name]
                    (result.ours if contender.is_ours else result.theirs).append(figure)
    return list(results.values())


def _check_replies(sessions: Sequence[Session]) -> None:
    """Raise ServerError if the replies differ: a server with another reply may be faster."""
    replies = {session.reply or b"" for session in sessions}
    if len(replies) > 1:
        shown = " and ".join(repr(reply[:SHOWN_BYTES]) for reply in replies)
        raise ServerError(f"the servers answer differently: {shown}")


def _measured(contender: Contender, session: Session) -> Figures:
    try:
        return session.measure()
    except ServerError as error:
        raise ServerError(f"{contender.program.name}: {error}") from error


def has_case(contender: Contender, case: Case) -> bool:
    """Return True if a server supports the case: ours does, Redis from some version on."""
    return contender.is_ours or contender.program.version >= case.since
