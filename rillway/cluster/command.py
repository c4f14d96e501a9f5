"""`rillway cluster start|status|top|add|remove|restart|upgrade|stop`.

Exits with 0 if the job is done and the cluster is sound, 1 if not, 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys

from rillway.cluster.arguments import DEFAULT_PORT, parse_options
from rillway.cluster.folder import ClusterFolder, checked_options
from rillway.cluster.launch import MIN_FOR_FAILOVER, Launch, Wish
from rillway.cluster.member import ClusterFailed
from rillway.cluster.picture import Picture, sample_as_json, table
from rillway.cluster.status import as_json, lines, read_status
from rillway.pipeline.cli.interruption import Interruption

CLEAR = "\x1b[H\x1b[2J"  # of a terminal
# The first repetition may be lost as well, if the machine is busy.
AGAIN_SECONDS, PAUSE_SECONDS = 0.01, 0.25


def main(arguments: list[str]) -> int:
    """Do a job and return the exit status."""
    job, options = parse_options(arguments)
    repeat_lost_interrupts()
    try:
        return JOBS[job](options)
    except ClusterFailed as failure:
        print(f"rillway cluster: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)
        again = f"{job} {options.node}" if job == "remove" else job
        command = ClusterFolder(options.dir).command("restart" if job == "upgrade" else again)
        print(f"\nInterrupted. `{command}` goes on.", file=sys.stderr)
        return 128 + signal.SIGINT


def repeat_lost_interrupts() -> None:
    """Raise KeyboardInterrupt again, a moment later, where a destructor has swallowed it.

    Python ignores exceptions in destructors, of which redis-py runs one after each pipeline.
    """
    report = sys.unraisablehook

    def repeat(lost: sys.UnraisableHookArgs) -> None:
        if lost.exc_type is KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS, PAUSE_SECONDS)
        else:
            report(lost)

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    sys.unraisablehook = repeat


def start(options: argparse.Namespace) -> int:
    """Create the cluster of the folder, or start its nodes that do not run."""
    folder = ClusterFolder(options.dir)
    wish = Wish(options.nodes, options.replicas, options.port, checked_options(options.options))
    if folder.plan is None and wish.primaries is None:
        raise ClusterFailed(
            f"there is no cluster in {folder.path} yet: how many primaries is it to have? "
            f"--nodes {max(os.cpu_count() or 1, MIN_FOR_FAILOVER)}"
        )
    with folder.locked():
        launch = Launch(folder, say)
        if folder.plan is None:
            launch.plan(wish, DEFAULT_PORT)
        else:
            launch.check(wish)
        launch.start()
    return show(folder)


def say(line: str) -> None:
    """Print at once: the next step may take long."""
    print(line, flush=True)


def show(folder: ClusterFolder) -> int:
    """Print the nodes; returns the exit status."""
    status = read_status(folder)
    print("\n".join(lines(status)))
    return 0 if status.is_sound else 1


def status(options: argparse.Namespace) -> int:
    folder = ClusterFolder(options.dir)
    if not options.json:
        return show(folder)
    found = read_status(folder)
    print(json.dumps(as_json(folder, found), indent=2))
    return 0 if found.is_sound else 1


def top(options: argparse.Namespace) -> int:
    """Show samples until Ctrl-C, or one. Rates need two, so the first one is not shown."""
    folder = ClusterFolder(options.dir)
    picture, is_screen = Picture(folder), sys.stdout.isatty() and not options.json
    is_one = options.once or not (is_screen or options.json)
    sample = picture.take()
    with Interruption() as interruption:
        while not interruption.wait(options.every):
            sample = picture.take()
            if options.json:
                say(json.dumps(sample_as_json(folder, sample)))
            else:
                say(table(sample) if is_one else f"{CLEAR}{table(sample)}")
            if is_one:
                break
    return 0 if sample.status.is_sound else 1


def add(options: argparse.Namespace) -> int:
    """Add a primary, with its share of the slots."""
    folder = ClusterFolder(options.dir)
    folder.existing()
    with folder.locked():
        Launch(folder, say).add()
    return show(folder)


def remove(options: argparse.Namespace) -> int:
    """Remove a node; its slots go to the others."""
    folder = ClusterFolder(options.dir)
    folder.existing()
    with folder.locked():
        Launch(folder, say).remove(options.node)
    return show(folder)


def restart(options: argparse.Namespace) -> int:
    """Restart all nodes, one after the other."""
    return restarted(options, None)


def upgrade(options: argparse.Namespace) -> int:
    """Restart all nodes by another Rillway; they start it in their folders, by an absolute path."""
    if options.to and "/" in options.to[0]:
        options.to[0] = os.path.abspath(options.to[0])
    try:
        asked = subprocess.run(
            [*options.to, "--version"], capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise ClusterFailed(f"{shlex.join(options.to)} cannot be run: {error.strerror}") from None
    if asked.returncode or "rillway" not in asked.stdout.lower():
        raise ClusterFailed(f"{shlex.join(options.to)} --version says nothing of Rillway")
    say(f"upgrading to {asked.stdout.strip()}")
    return restarted(options, options.to)


def restarted(options: argparse.Namespace, program: list[str] | None) -> int:
    folder = ClusterFolder(options.dir)
    folder.existing()
    with folder.locked():
        Launch(folder, say).restart(program)
    return show(folder)


def stop(options: argparse.Namespace) -> int:
    """Stop all nodes, and print which ended."""
    folder = ClusterFolder(options.dir)
    folder.existing()
    with folder.locked():
        Launch(folder, say).stop()
    return 0


JOBS = {
    "start": start,
    "status": status,
    "top": top,
    "add": add,
    "remove": remove,
    "restart": restart,
    "upgrade": upgrade,
    "stop": stop,
}
