"""Runs `rillway serve` in a child process that ends together with the test process.

The test process may be killed before its clean-up runs. So the child watches it: standard input is
a pipe whose other end only the test process holds, and which the kernel closes when that process
ends. A fork of the test process would hold it too, so the parent's process ID is checked as well,
which changes when the parent ends. (Linux has PR_SET_PDEATHSIG, but it follows the *thread* that
started the child, and a fixture may be set up in a thread.)

Run as a script, not imported: `python -P launcher.py PARENT ROOT TEMPORARY [ARGUMENT ...]`, where
TEMPORARY is a folder to be removed when the parent has ended, or empty.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import threading

LOOK_SECONDS = 0.5


def follow(parent: int, stdin: int, temporary: str) -> None:
    """Ends this process at once, however busy it is, when `parent` ends."""
    while os.getppid() == parent:
        readable, _, _ = select.select([stdin], [], [], LOOK_SECONDS)
        if readable and not os.read(stdin, 1):
            break
    if temporary:
        shutil.rmtree(temporary, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGKILL)


def serve(root: str, arguments: list[str]) -> int | None:
    """`rillway serve` of the package that the test process has imported from `root`.

    `root` may be a site-packages folder, which must precede the standard library on `sys.path` only
    while `rillway` is imported.
    """
    sys.path.insert(0, root)
    from rillway.__main__ import serve as rillway_serve

    del sys.path[0]
    sys.path.append(root)
    return rillway_serve(arguments)


def main(arguments: list[str]) -> int | None:
    parent, root, temporary, *rest = arguments
    what = (int(parent), sys.stdin.fileno(), temporary)
    threading.Thread(target=follow, args=what, daemon=True).start()
    return serve(root, rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
