"""INFO: facts and statistics of the server, as lines of text in sections."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import LOADING, STALE, command
from commands.server.info.sections import ONLY_WHEN_ASKED_FOR, SECTIONS, TITLES
from protocol import replies
from protocol.request import Request

# Words that stand for several sections.
_GROUPS = {
    "default": SECTIONS.keys() - ONLY_WHEN_ASKED_FOR,
    # Without keysizes, for which every key is looked at: exporters ask for all every few seconds.
    "all": SECTIONS.keys() - {"modules", "keysizes"},
    "everything": SECTIONS.keys() - {"keysizes"},
}


@command("INFO", arity=-1, flags=LOADING | STALE)
def info(client: Client, argv: Request) -> bytes:
    """A verbatim string. Names of sections ignore case; unknown ones give no text."""
    words = [word.decode("latin-1").lower() for word in argv[1:]] or ["default"]
    wanted = {name for word in words for name in _GROUPS.get(word, {word})}
    if "tls" in wanted and not client.instance.host.facts().certificates:
        wanted.discard("tls")  # Redis has no such section
    texts = [section_text(client.instance, name) for name in SECTIONS if name in wanted]
    return replies.verbatim("\r\n".join(texts).encode("utf-8", "surrogateescape"), client.resp)


def section_text(instance: Instance, name: str) -> str:
    """One section with its heading."""
    lines = [f"# {TITLES.get(name, name.capitalize())}"]
    lines += [f"{field}:{value}" for field, value in SECTIONS[name](instance)]
    return "".join(f"{line}\r\n" for line in lines)
