"""Runs a load in a process of its own, so that nothing else runs in it during the measurement."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeVar

Result = TypeVar("Result")


def in_own_process(work: Callable[[], Result]) -> Result:
    """Run `work` in a fork of this process; returns or raises its result."""
    forking = get_context("fork")
    receiving, sending = forking.Pipe(duplex=False)
    process = forking.Process(target=_run, args=(work, sending), daemon=True)
    process.start()
    sending.close()
    try:
        result, error = receiving.recv()
    except EOFError:
        raise RuntimeError("the process that makes the load ended") from None
    except BaseException:  # Ctrl-C: the result is not needed any more
        process.kill()
        raise
    finally:
        receiving.close()
        process.join()
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


def _run(work: Callable[[], object], sending: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends when the run ends it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.disable()  # a pause of this process would be taken for one of the server
    try:
        sending.send((work(), None))
    except Exception as error:
        sending.send((None, error))
