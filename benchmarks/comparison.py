"""Measuring a case: both servers side by side, in turn, A B A B."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.cases.case import Case, Figures, Measurement, Scale
from benchmarks.figures import Result
from benchmarks.servers import Contender, ServerError


def compare(case: Case, contenders: Sequence[Contender], scale: Scale) -> list[Result]:
    """A result for each row. Raises what a server or a load raises."""
    results = {row.name: Result(row) for row in case.rows}
    with ExitStack() as stack:
        sessions = [
            (contender, stack.enter_context(case.open(contender, scale)))
            for contender in contenders
            if has_case(contender, case)
        ]
        if case.has_warm_up:
            for contender, measure in sessions:
                _measured(contender, measure)
        for _ in range(case.pairs(scale)):
            for contender, measure in sessions:
                for name, figure in _measured(contender, measure).items():
                    result = results[name]
                    (result.ours if contender.is_ours else result.theirs).append(figure)
    return list(results.values())


def _measured(contender: Contender, measure: Measurement) -> Figures:
    try:
        return measure()
    except ServerError as error:
        raise ServerError(f"{contender.program.name}: {error}") from error


def has_case(contender: Contender, case: Case) -> bool:
    """Whether a server knows what the case asks for: ours does, Redis from some version on."""
    return contender.is_ours or contender.program.version >= case.since
