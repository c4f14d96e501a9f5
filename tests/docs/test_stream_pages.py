"""Each stream command has a page that leaves out no option and no error text.

The syntax at the head of a page is generated (test_generated.py), its examples and errors are run
(test_snippets.py).
"""

from __future__ import annotations

import re

import pytest

from commands.core.registry import Command
from commands.documentation import row_of, shown_name
from docs.generate import BLOCK, DOCS, block_name, page_of, stream_commands
from protocol import errors
from tests.docs.test_links import anchors

PAGES = DOCS / "reference" / "streams"
COMMANDS = stream_commands()
# Not shown by an example: 1 GiB of fields, words of 512 bytes, and what no request reaches, since
# XDELEX and XACKDEL with as many words as they need have IDS or another error.
NOT_RUN = {
    errors.XADD_TOO_LARGE, errors.IDS_REQUIRED, errors.XNACK_REASON_LENGTH,
    errors.CONFIG_KEY_TOO_LONG,
}  # fmt: skip


def name(command: Command) -> str:
    return shown_name(command)


def section(command: Command) -> str:
    """What the page says of the command, without the generated part."""
    file, _, anchor = page_of(command).partition("#")
    page = (PAGES / file).read_text()
    if not anchor:
        return BLOCK.sub("", page)
    head, _, rest = page.partition(f"<!-- generated: {block_name(command)} -->\n")
    assert head.rstrip().endswith(f"## {shown_name(command)}")
    return rest.partition("<!-- end -->")[2].partition("\n## ")[0]


@pytest.mark.parametrize("command", COMMANDS, ids=name)
def test_the_command_has_a_page(command: Command) -> None:
    file, _, anchor = page_of(command).partition("#")
    assert (PAGES / file).is_file(), f"docs/reference/streams/{file} is missing"
    assert not anchor or anchor in anchors(PAGES / file)
    text = section(command)
    assert f"> {shown_name(command)}" in text, "no example"
    assert "RESP2" in text or re.search(r"^Replies (a|an|the) ", text, re.MULTILINE), "no reply"
    assert "## Differences from Redis" in (PAGES / file).read_text()


@pytest.mark.parametrize("command", COMMANDS, ids=name)
def test_the_page_explains_each_option(command: Command) -> None:
    words = set(re.findall(r"\b[A-Z]{3,}(?:-[A-Z]+)*\b", row_of(command).syntax))
    explained = " ".join(re.findall(r"`([^`\n]+)`", section(command)))
    assert words - set(re.findall(r"[A-Z-]+", explained)) == set()


def test_each_page_is_of_a_command() -> None:
    pages = {page.name for page in PAGES.glob("x*.md")}
    assert pages == {page_of(each).partition("#")[0] for each in COMMANDS}


def test_an_example_shows_each_error_of_streams() -> None:
    source = (DOCS.parent / "protocol" / "errors.py").read_text()
    streams = source.partition("# -- streams --")[2].partition("\n# -- ")[0]
    names = re.findall(r"^([A-Z_]+) = ", streams, re.MULTILINE)
    texts = {getattr(errors, name) for name in names} - NOT_RUN
    shown = {
        line.encode()
        for page in PAGES.glob("*.md")
        for line in re.findall(r"^\(error\) (.*)$", page.read_text(), re.MULTILINE)
    }
    assert len(texts) > 50
    assert texts - shown == set()
