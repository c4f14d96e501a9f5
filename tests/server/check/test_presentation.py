"""server/check/presentation.py: reports as text and as JSON."""

from __future__ import annotations

from server.check.inspection import (
    BOTH,
    MANIFEST,
    SNAPSHOT,
    BigStream,
    Contents,
    DatabaseContents,
    FileReport,
    Problem,
    Report,
)
from server.check.presentation import as_text
from server.printable import LONGEST


def test_a_sound_file_is_described() -> None:
    file = FileReport(
        "x.aof", BOTH, 12_345, version=11, written_by="7.4.0", written_at_s=86_400,
        checksum="right", unsupported={"list": 3}, requests=1000, last_written_s=86_401,
        no_effect={"ping": 2},
    )  # fmt: skip
    contents = Contents(
        [DatabaseContents(0, 3, 2, 1, 1, 0, 9, 1, 2, 4)], [BigStream(0, "s", 9, 1, 4)]
    )
    assert as_text(Report("x.aof", [file], contents)) == (
        "x.aof: append-only file with a snapshot in front, 12,345 bytes: sound\n"
        "  format        version 11, checksum right\n"
        "  written by    Redis 7.4.0 or as such, 1970-01-02 00:00:00 UTC\n"
        "  requests      1,000, the last from 1970-01-02 00:00:01 UTC\n"
        "  unsupported   3 of type list\n"
        "  no effect     2 x ping\n"
        "  database 0    3 keys: 1 stream, 2 strings; 1 with a time to live, 0 past it\n"
        "  streams       9 entries, 1 group, 2 consumers, 4 pending\n"
        "  large stream  s (database 0): 9 entries, 1 group, 4 pending"
    )


def test_one_of_a_thing_is_named_in_the_singular() -> None:
    contents = Contents([DatabaseContents(0, 1, entries=1, hashes=1, sorted_sets=2)])
    lines = as_text(Report("x", [FileReport("x", "file", 1)], contents)).splitlines()
    assert lines[-1] == "  database 0    1 key: 0 streams, 0 strings, 2 sorted sets, 1 hash"


def described(problem: Problem, fixed: str = "") -> list[str]:
    file = FileReport("x", "file", 100, problem, fixed=fixed)
    return as_text(Report("x", [file], Contents())).splitlines()


def test_a_broken_file_comes_with_its_repair() -> None:
    problem = Problem(60, "why", 50, False, True, 50, 7)
    assert described(problem) == [
        "x: file, 100 bytes: BROKEN at offset 60",
        "  problem       why",
        "  sound         the first 50 bytes",
        "  after it      50 bytes, with 7 requests that can still be read",
        "  repair        rillway check --fix x",
        "  contents      no keys",
    ]
    assert described(problem, "cut")[-2] == "  fixed         cut"
    problem.can_be_cut = False
    assert described(problem)[-2].endswith("none here: other files of the manifest follow this one")
    assert described(Problem(0, "why"))[-2].endswith("none: restore the file from a backup")


def test_a_file_with_a_command_that_is_unknown_is_nothing_to_cut() -> None:
    problem = Problem(60, "Unknown command 'HSET'", 60, is_foreign=True, lost_bytes=40)
    assert described(problem)[0] == "x: file, 100 bytes: NOT SUPPORTED from offset 60"
    assert described(problem)[-2] == (
        "  repair        none here: load it with the server that wrote it"
    )


def test_a_file_of_valkey_says_so() -> None:
    file = FileReport("x", SNAPSHOT, 9, version=80, written_by="Valkey 9.1.2", checksum="right")
    assert as_text(Report("x", [file], Contents())).splitlines()[1:3] == [
        "  format        version 80, checksum right",
        "  written by    Valkey 9.1.2",
    ]


def test_refused_writes_come_with_what_a_start_makes_of_them() -> None:
    file = FileReport(
        "x", "file", 100, requests=1000, refused={"xadd": 1200, "incr": 1},
        first_refusal="'incr' at offset 7: ERR why",
    )  # fmt: skip
    assert as_text(Report("x", [file], Contents())).splitlines() == [
        "x: file, 100 bytes: 1,201 REFUSED WRITES",
        "  requests      1,000",
        "  refused       1 x incr",
        "  refused       1,200 x xadd",
        "  the first     'incr' at offset 7: ERR why",
        "  start         stops here; with --aof-skip-refused-writes yes goes on without them",
        "  contents      no keys",
    ]


def test_a_manifest_that_cannot_be_read_has_no_contents() -> None:
    file = FileReport("x", MANIFEST, 10, Problem(0, "why"))
    assert "contents" not in as_text(Report("x", [file], Contents()))


def test_what_a_terminal_would_not_show_is_escaped_and_cut_off() -> None:
    lines = described(Problem(0, "\x1b[31m" + "x" * 100_000))
    assert len("".join(lines)) < 2 * LONGEST and "\x1b" not in "".join(lines)


def test_states_have_colours_where_they_are_shown() -> None:
    def paint(text: str, colour: str) -> str:
        return f"<{colour}>{text}"

    for file, state in [
        (FileReport("x", "file", 0), "<green>sound"),
        (FileReport("x", "file", 0, Problem(0, "why")), "<red>BROKEN at offset 0"),
        (FileReport("x", "file", 0, refused={"xadd": 2}), "<red>2 REFUSED WRITES"),
    ]:
        assert as_text(Report("x", [file], Contents()), paint).splitlines()[0].endswith(state)
