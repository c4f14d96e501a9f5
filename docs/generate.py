"""Brings the generated tables of the documentation up to date: `python docs/generate.py`.

Pages are written by hand, except for what stands between `<!-- generated: NAME -->` and
`<!-- end -->`: that comes from the families' tables of commands, the directives of the
configuration, the sections of INFO, `--help` of the command line, and the table of differences that
the comparison with a real redis-server keeps. A test compares the pages with what this program
writes.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import commands.catalogue  # noqa: F401  (declares every command)
from commands.config.absent_features import ABSENT, FEATURES, VALUES
from commands.config.configuration import DIRECTIVES, Configuration, Directive
from commands.config.directive_kinds import Boolean, Integer, Text, Words
from commands.core.host import REDIS_VERSION, RILLWAY_VERSION
from commands.core.registry import COMMANDS, Command
from commands.documentation import Row, row_of, shown_name
from commands.server.command import acl_categories
from commands.server.info_sections import ONLY_WHEN_ASKED_FOR, SECTIONS
from rillway.__main__ import SUBCOMMANDS, usage
from server.inprocess.server import InProcessServer
from tests.compat.differences import NEWER_THAN_7_0, NEWER_THAN_8_2

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

GROUPS = {
    "stream": "Streams",
    "generic": "Keys",
    "string": "Strings",
    "hash": "Hashes",
    "list": "Lists",
    "set": "Sets",
    "sorted-set": "Sorted sets",
    "geo": "Places on a map",
    "bitmap": "Bits",
    "hyperloglog": "HyperLogLogs",
    "transactions": "Transactions",
    "pubsub": "Publish and subscribe",
    "connection": "Connection",
    "cluster": "Cluster",
    "server": "Server",
    "scripting": "Scripts and functions",
}

# What Redis 7 has and Rillway has not: the feature, and its commands.
ABSENT_COMMANDS: dict[str, str] = {
    "Modules": "module|load module|loadex module|unload",
    "Figures of the allocator": "memory|malloc-stats",
}


# -- tables --------------------------------------------------------------------------------------


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; a bar inside of a cell is escaped."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *([*row] for row in rows)]
    return "".join("| " + " | ".join(map(_cell, line)) + " |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """`text` as code; nothing for nothing."""
    return f"`{text}`" if text else ""


def codes(words: Iterable[str]) -> str:
    return ", ".join(map(code, words))


def version_text() -> str:
    return (
        f"Rillway {RILLWAY_VERSION} answers as Redis {REDIS_VERSION} does,\n"
        "which is also what INFO and HELLO report as `redis_version`.\n"
    )


# -- commands ------------------------------------------------------------------------------------


def callable_commands() -> list[Command]:
    """Every command and sub-command that can be sent, in the order of the alphabet."""
    found: list[Command] = []
    for name in sorted(COMMANDS):
        subcommands = COMMANDS[name].subcommands
        found += [subcommands[sub] for sub in sorted(subcommands)] or [COMMANDS[name]]
    return found


def commands_text() -> str:
    """A table for each group."""
    found = callable_commands()
    assert {row_of(command).group for command in found} <= set(GROUPS)
    parts = [f"{len(found)} commands, sub-commands counted one by one.\n"]
    for group, title in GROUPS.items():
        rows = [_command_row(command) for command in found if row_of(command).group == group]
        head = ("command", "arguments", "since Redis", "what it does")
        if rows:
            parts.append(f"## {title}\n\n{table(head, rows)}")
    return "\n".join(parts)


def _command_row(command: Command) -> list[str]:
    row, name = row_of(command), code(shown_name(command))
    if row.group == "stream":
        name = f"[{name}](streams/{page_of(command)})"
    return [name, code(row.syntax), _since(row), row.summary]


def _since(row: Row) -> str:
    """The version of Redis that got the command; nothing for our own."""
    return "" if "Rillway's own" in row.summary else row.since


# -- the pages of the stream commands ------------------------------------------------------------

LINE = 88


def stream_commands() -> list[Command]:
    return [command for command in callable_commands() if row_of(command).group == "stream"]


def page_of(command: Command) -> str:
    """The page in docs/reference/streams, with a heading for each sub-command."""
    container, _, subcommand = command.fullname.decode().partition("|")
    return f"{container}.md#{container}-{subcommand}" if subcommand else f"{container}.md"


def block_name(command: Command) -> str:
    return command.fullname.decode().replace("|", "-")


def stream_command_text(command: Command) -> str:
    """What the head of a command's page says: syntax, version, complexity, categories, history."""
    row = row_of(command)
    since = _since(row)
    lines = [
        f"{row.summary}\n\n```text\n{_wrapped_syntax(command)}\n```\n",
        f"- Since: {f'Redis {since}' if since else 'Rillway'}",
        f"- Complexity: {row.complexity.rstrip('.')}",
        f"- ACL categories: {codes(name.decode() for name in acl_categories(command))}",
        *(f"- Redis {version}: {change}" for version, change in row.history),
    ]
    return "\n".join(lines) + "\n"


def _wrapped_syntax(command: Command) -> str:
    """The syntax in lines that end between options."""
    whole = re.compile(r"<[^>]*>|\[(?:[^][]|\[[^][]*\])*\]")
    text = whole.sub(lambda found: found[0].replace(" ", "\0"), row_of(command).syntax)
    line = f"{shown_name(command)} {text}".rstrip()
    wrapped = textwrap.fill(
        line, LINE, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return wrapped.replace("\0", " ")


def absent_commands_text() -> str:
    rows = [
        (feature, codes(name.upper().replace("|", " ") for name in sorted(names.split())))
        for feature, names in ABSENT_COMMANDS.items()
    ]
    return table(("feature", "commands"), rows)


# -- configuration -------------------------------------------------------------------------------


def directives_text() -> str:
    rows = [_directive_row(name, directive) for name, directive in sorted(DIRECTIVES.items())]
    return table(("directive", "default", "values", "changed by CONFIG SET"), rows)


def _directive_row(name: str, directive: Directive) -> list[str]:
    if name != directive.name:
        return [code(name), "", f"another name for `{directive.name}`", ""]
    default = directive.kind.format(directive.default) or '""'
    changed = "yes"
    if directive.immutable:
        changed = "no"
    elif directive.protected:
        changed = "if enable-protected-configs allows it"
    return [code(name), code(default), directive.kind.expected, changed]


def absent_directives_text() -> str:
    rows = []
    for feature, values in ABSENT.items():
        accepted = [f"{name} {value}" if value else f'{name} ""' for name, value in values.items()]
        rows.append((feature, codes(accepted)))
    for feature in dict.fromkeys(FEATURES[name] for name in FEATURES if name not in VALUES):
        names = [n for n, f in FEATURES.items() if f == feature and n not in VALUES]
        rows.append((feature, f"{codes(names)}: refused with any value"))
    return table(("Rillway does not have ... yet", "accepted as"), rows)


CONFIGURATION = DOCS.parent / "docker" / "systemd" / "rillway.conf"
# What the file sets, where Redis's defaults are not what a service wants.
IN_FORCE = {
    "dir": ("/var/lib/rillway", "The unit of systemd gives the server this folder, and no other."),
    "appendonly": ("yes", "Every write, on disk within a second; snapshots alone lose minutes."),
    "save": ('""', "So there is no need for snapshots."),
}
CONFIGURATION_HEAD = """\
# Rillway as a service. `rillway serve FILE` reads it; docs/how-to/run.md has the syntax.
#
# Directives behind a `#` have their default; `#:` says what the next one takes. The list is
# generated from the declarations in commands/config/configuration.py; directives without an effect
# are left out.
"""


def configuration_text() -> str:
    """The commented configuration file: each directive with its default, in groups."""
    lines, source = [CONFIGURATION_HEAD], inspect.getsource(Configuration).partition("# Inert")[0]
    # A comment, if there is one, and a field.
    for comment, field in re.findall(r"((?: {4}# .*\n)*) {4}(\w+): .*= directive\(", source):
        directive = DIRECTIVES[field.replace("_", "-")]
        text = " ".join(line.strip(" #") for line in comment.splitlines())
        if text[:1].islower():
            lines.append(f"\n## {text[0].upper()}{text[1:]}\n\n")
        elif text and not directive.hidden:
            lines.append(f"# {text}\n")
        if not directive.hidden:
            lines.append(_directive_lines(directive))
    return "".join(lines)


def _directive_lines(directive: Directive) -> str:
    name, kind = directive.name, directive.kind
    if name in IN_FORCE:
        value, why = IN_FORCE[name]
        return f"# {why}\n{name} {value}\n"
    notes = [kind.expected] if not isinstance(kind, Boolean | Integer | Text | Words) else []
    notes += ["only at the start"] if directive.immutable else []
    values = " ".join(map(_word, kind.words(directive.default))) or '""'
    return (f"#: {'; '.join(notes)}\n" if notes else "") + f"# {name} {values}\n"


def _word(word: str) -> str:
    return word if word and not re.search(r"[\s#\"']", word) else f'"{word}"'


# -- INFO ----------------------------------------------------------------------------------------


def info_text() -> str:
    rows = []
    for name, lines in _info_sections().items():
        plain = "when asked for" if name in ONLY_WHEN_ASKED_FOR else "yes"
        rows.append((code(name), plain, codes(dict.fromkeys(map(_field_name, lines))) or "none"))
    return table(("section", "in a plain INFO", "fields"), rows)


def _info_sections() -> dict[str, list[str]]:
    """The lines of every section, of a server on which each of them has some."""
    server = InProcessServer()
    client = server.connect()
    for argv in (("SET", "k", "v"), ("XLEN", "k")):
        client.execute(*argv)
    return {
        name: [field for field, _ in section(server.instance)] for name, section in SECTIONS.items()
    }


def _field_name(name: str) -> str:
    """The names that hold a command, an error or a number stand for many."""
    name = re.sub(r"^(cmdstat_|latency_percentiles_usec_).*", r"\1<command>", name)
    name = re.sub(r"^errorstat_.*", "errorstat_<error>", name)
    return re.sub(r"^(db|listener)\d+", r"\1<number>", name)


# -- newer than 7.0 ------------------------------------------------------------------------------


def newer_text() -> str:
    differences = [*NEWER_THAN_8_2, *NEWER_THAN_7_0]
    rows = [(each.name, each.since, each.reason) for each in differences]
    return table(("what", "since Redis", "how it is"), rows)


# -- the command line ----------------------------------------------------------------------------

JOBS = (
    *("archive compact", "archive epochs", "archive erase", "archive expire", "archive status"),
    *("cluster start", "cluster status", "cluster add", "cluster remove"),
    *("cluster top", "cluster restart", "cluster upgrade", "cluster stop"),
    "demo departures",
)
HELP_COLUMNS = "88"


def command_line_text() -> str:
    """Return the page of what `--help` prints for each sub-command."""
    parts = [f"```text\n{usage()}\n```\n"]
    for name in [*SUBCOMMANDS, *JOBS]:
        parts.append(f"## rillway {name}\n\n```text\n{help_text(name.split())}\n```\n")
    return "\n".join(parts)


def help_text(words: list[str]) -> str:
    printed = io.StringIO()
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = HELP_COLUMNS
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            SUBCOMMANDS[words[0]][0]([*words[1:], "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
    return printed.getvalue().rstrip()


# -- the pages -----------------------------------------------------------------------------------

BLOCKS: dict[str, Callable[[], str]] = {
    "version": version_text,
    "newer": newer_text,
    "command-line": command_line_text,
    "commands": commands_text,
    "absent-commands": absent_commands_text,
    "directives": directives_text,
    "absent-directives": absent_directives_text,
    "info": info_text,
    **{block_name(each): partial(stream_command_text, each) for each in stream_commands()},
}


def pages() -> dict[Path, str]:
    """The pages that have generated blocks, and their texts."""
    texts = {path: path.read_text() for path in sorted(DOCS.rglob("*.md"))}
    return {path: text for path, text in texts.items() if BLOCK.search(text)}


def updated(page: str) -> str:
    """The page with its generated blocks as they should be. Raises KeyError for an unknown one."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]]()}\n{found[3]}", page)


def main() -> None:
    for path, text in pages().items():
        path.write_text(updated(text))
    CONFIGURATION.write_text(configuration_text())


if __name__ == "__main__":
    main()
