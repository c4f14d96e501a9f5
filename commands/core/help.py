"""The HELP sub-command that every container of sub-commands has.

This module has only the layout, which is Redis's: a line with the container's usage, the lines of
its sub-commands, and HELP itself. Each container supplies its own lines.
"""

from __future__ import annotations

from protocol import replies


def help_reply(container: bytes, *lines: bytes) -> bytes:
    """The reply to `<container> HELP`: an array of simple strings.

    `container` in upper case; `lines` are each sub-command with its arguments and, indented by
    four blanks, sentences about it.
    """
    usage = b"%b <subcommand> [<arg> [value] [opt] ...]. Subcommands are:" % container
    text = [usage, *lines, b"HELP", b"    Print this help."]
    return replies.array([replies.simple(line) for line in text])
