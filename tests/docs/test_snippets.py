"""The examples of the documentation run, and print what the pages show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.snippets import ROOT, Failed, Page, blocks, commands, matches

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ON_CALL = ROOT / "docs/how-to/on-call.md"  # needs servers that are in trouble: test_on_call.py
RUN = [
    page
    for page in PAGES
    if page != ON_CALL and any(block.is_run for block in blocks(page.read_text()))
]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.integration
@pytest.mark.parametrize("page", RUN, ids=name)
def test_the_examples_of_the_page_run(
    page: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """All of them, except where `make test` asks for the profile `quick`: see snippets.py."""
    is_quick = pytestconfig.getoption("--hypothesis-profile") == "quick"
    Page(page.read_text(), tmp_path, thorough=not is_quick).run()


# -- the runner itself ----------------------------------------------------------------------------


@pytest.mark.integration
def test_a_page_runs_commands_files_and_python(tmp_path: Path) -> None:
    page = """
```console
> XADD orders * item lamp
"1700000000000-0"
$ redis-cli XLEN orders
(integer) 1
$ redis-cli INFO server | grep tcp_port
tcp_port:6379
```
<!-- file: count.py -->
```python
import redis
print(redis.Redis(port=6379).xlen("orders"))
```
```console
$ python count.py
1
```
```python
from count import redis
print("again")
```
<!-- output -->
```text
1
again
```
<!-- fails -->
```console
$ false
```
"""
    Page(page, tmp_path, thorough=False).run()


@pytest.mark.integration
@pytest.mark.parametrize(
    "page",
    [
        "```console\n$ redis-cli PING\nPANG\n```\n",
        "```console\n> XADD orders\n```\n",
        "```console\n$ false\n```\n",
        "<!-- fails -->\n```console\n$ true\n```\n",
        "```python\nraise ValueError\n```\n",
        "```python\nprint(1)\n```\n<!-- output -->\n```text\n2\n```\n",
    ],
)
def test_a_page_that_shows_something_else_fails(page: str, tmp_path: Path) -> None:
    with pytest.raises(Failed, match="line "):
        Page(page, tmp_path, thorough=False).run()


@pytest.mark.parametrize(
    "page",
    [
        "```pyhton\n```\n",
        "<!-- not rum: reason -->\n```python\n```\n",
        "<!-- not run -->\n```python\n```\n",
    ],
)
def test_an_unknown_language_or_mark_and_a_missing_reason_are_errors(page: str) -> None:
    with pytest.raises(Failed):
        list(blocks(page))


def test_output_is_compared_line_by_line() -> None:
    assert matches("1) 1\n2) 2\n", "1) 1  \n2) 2\n")
    assert not matches("1) 1\n", "1) 1\n2) 2\n")
    assert matches("a ... c\n", "a b b c\n")
    assert matches("first\n...\nlast\n", "first\n2\n3\nlast\n")
    assert matches('"1700000000000-0"', '"1812345678901-3"')
    assert not matches('"5-0"', '"5-1"')
    assert matches("took 1.5 s, 2,000 entries", "took 22 s, 7 entries", numbers_vary=True)
    assert not matches("took 1.5 s", "took 22 ms", numbers_vary=True)


def test_a_command_goes_on_after_a_backslash() -> None:
    assert list(commands("$ a \\\n  b\nout\n$ c\n")) == [("a \\\n  b", "out\n"), ("c", "")]
