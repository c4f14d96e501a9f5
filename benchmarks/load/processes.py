"""Work in a process of its own, so that nothing else runs in it during a measurement."""

from __future__ import annotations

import functools
import gc
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Generic, ParamSpec, TypeVar

from benchmarks.machine import end_with_parent

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class OwnProcess(Generic[Result]):
    """A fork of this process that does some work and ends."""

    def __init__(self, work: Callable[[], Result]) -> None:
        forking = get_context("fork")
        self._receiving, sending = forking.Pipe(duplex=False)
        self._process = forking.Process(target=_run, args=(work, sending))
        self._process.start()
        sending.close()

    @property
    def is_done(self) -> bool:
        return self._receiving.poll()

    def result(self) -> Result:
        """Wait for the end of the work, and return or raise its result."""
        try:
            result, error = self._receiving.recv()
        except EOFError:
            raise RuntimeError("the process that makes the load ended") from None
        except BaseException:  # Ctrl-C: the result is not needed any more
            self._process.kill()
            raise
        finally:
            self._receiving.close()
            self._process.join()
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]


def in_own_process(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function: each call of it runs in a process of its own."""

    @functools.wraps(function)
    def call(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        return OwnProcess(lambda: function(*arguments, **options)).result()

    return call


def _run(work: Callable[[], object], sending: Connection) -> None:
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends when the run ends it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.disable()  # a pause of this process would be taken for one of the server
    try:
        sending.send((work(), None))
    except Exception as error:
        sending.send((None, error))
