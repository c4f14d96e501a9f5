"""server/inprocess/memory_files.py: faults and crashes of the in-memory file system."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable

import pytest

from server.inprocess.memory_files import MemoryFiles, keep_everything
from server.persistence.files import replace_file, write_all


def outcomes(files: MemoryFiles) -> set[str]:
    """Everything that a crash now was seen to leave, in many tries."""
    seen = set()
    chance = random.Random(0)
    for _ in range(300):
        seen.add(str(files.crash(lambda limit: chance.randint(0, limit)).snapshot()))
    return seen


def states(*snapshots: dict[str, bytes]) -> set[str]:
    """The same form as `outcomes`."""
    return {str(snapshot) for snapshot in snapshots}


@pytest.fixture
def files() -> MemoryFiles:
    """With one safe file `a` that holds "old"."""
    files = MemoryFiles()
    files.put("a", b"old")
    return files


def test_what_was_written_is_read_back(files: MemoryFiles) -> None:
    file = files.append("a")
    assert file.write(b"+new") == 4
    assert files.buffer("a") == b"old+new" and files.size("a") == file.size() == 7
    file.truncate(4)
    assert files.buffer("./a") == b"old+"
    assert files.create("a").size() == 0


def test_names_are_listed_by_directory(files: MemoryFiles) -> None:
    files.make_directory("d")
    files.make_directory("d")
    files.create("d/x").close()
    assert files.names(".") == ["a", "d"] and files.names("d") == ["x"]
    files.rename("d/x", "d/y")
    assert files.exists("d/y") and not files.exists("d/x")
    files.remove("d/y")
    assert files.names("d") == []


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (lambda files: files.append("none/x"), errno.ENOENT),
        (lambda files: files.buffer("none"), errno.ENOENT),
        (lambda files: files.size("none"), errno.ENOENT),
        (lambda files: files.rename("none", "b"), errno.ENOENT),
        (lambda files: files.rename("a", "none/b"), errno.ENOENT),
        (lambda files: files.remove("none"), errno.ENOENT),
        (lambda files: files.names("none"), errno.ENOENT),
        (lambda files: files.sync_directory("none"), errno.ENOENT),
        (lambda files: files.make_directory("none/d"), errno.ENOENT),
        (lambda files: files.make_directory("a"), errno.EEXIST),
        (lambda files: files.append("."), errno.EISDIR),
    ],
)
def test_what_the_system_refuses_is_refused(
    files: MemoryFiles, operation: Callable[[MemoryFiles], object], error: int
) -> None:
    with pytest.raises(OSError, match=r".+") as caught:
        operation(files)
    assert caught.value.errno == error


def test_an_operation_fails_on_request(files: MemoryFiles) -> None:
    file = files.append("a")
    files.fail("write", errno.ENOSPC, at=2)
    file.write(b"1")
    with pytest.raises(OSError, match="No space left"):
        file.write(b"2")
    file.write(b"3")
    assert files.buffer("a") == b"old13" and files.faults_left == 0


def test_without_a_number_every_call_fails_until_it_is_healed(files: MemoryFiles) -> None:
    file = files.append("a")
    files.fail("sync", errno.EIO)
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output"):
            file.sync()
    files.heal()
    file.sync()


def test_any_counts_all_operations(files: MemoryFiles) -> None:
    files.fail("any", errno.EIO, at=3)
    file = files.append("a")
    file.write(b"1")
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    assert files.calls["any"] == 3
    assert files.log == [("append", "a"), ("write", "a"), ("sync", "a")]


def test_a_write_can_be_short(files: MemoryFiles) -> None:
    file = files.append("a")
    files.shorten(2, at=2)
    assert (file.write(b"123"), file.write(b"456"), file.write(b"789")) == (3, 2, 3)
    assert files.buffer("a") == b"old12345789"


def test_a_disk_gets_full(files: MemoryFiles) -> None:
    file = files.append("a")
    files.free_bytes = 4
    assert file.write(b"123456") == 4
    with pytest.raises(OSError, match="No space left"):
        file.write(b"56")
    files.heal()
    write_all(file, b"56")
    assert files.buffer("a") == b"old123456"


def test_a_crash_tears_what_was_not_synced_at_any_byte(files: MemoryFiles) -> None:
    file = files.append("a")
    file.write(b"12")
    file.sync()
    file.write(b"34")
    file.write(b"5")
    wanted = [b"old12", b"old123", b"old1234", b"old12345"]
    assert outcomes(files) == states(*({"a": content} for content in wanted))
    assert files.crash().snapshot() == {"a": b"old12"}
    assert files.crash(keep_everything).snapshot() == {"a": b"old12345"}


def test_a_crash_may_undo_a_cut(files: MemoryFiles) -> None:
    file = files.append("a")
    file.write(b"12")
    file.truncate(3)
    file.write(b"9")
    wanted = [b"old", b"old1", b"old12", b"old9"]
    assert outcomes(files) == states(*({"a": content} for content in wanted))


def test_a_new_file_is_nameless_until_its_directory_is_synced(files: MemoryFiles) -> None:
    file = files.create("b")
    file.write(b"x")
    file.sync()
    assert outcomes(files) == states({"a": b"old"}, {"a": b"old", "b": b"x"})
    files.sync_directory(".")
    assert outcomes(files) == states({"a": b"old", "b": b"x"})


def test_a_name_on_disk_says_nothing_of_the_content(files: MemoryFiles) -> None:
    files.create("b").write(b"x")
    files.sync_directory(".")
    assert outcomes(files) == states({"a": b"old", "b": b""}, {"a": b"old", "b": b"x"})


def test_operations_on_different_names_may_survive_without_each_other(files: MemoryFiles) -> None:
    files.put("b", b"B")
    files.remove("a")
    files.remove("b")
    assert outcomes(files) == states({}, {"a": b"old"}, {"b": b"B"}, {"a": b"old", "b": b"B"})


def test_a_rename_is_one_step_and_after_what_made_the_file(files: MemoryFiles) -> None:
    file = files.create("b")
    file.write(b"new")
    file.sync()
    files.rename("b", "a")
    assert outcomes(files) == states({"a": b"old"}, {"a": b"old", "b": b"new"}, {"a": b"new"})


def test_a_rename_between_directories_is_safe_with_either_of_them(files: MemoryFiles) -> None:
    files.make_directory("d")
    files.sync_directory(".")
    files.rename("a", "d/a")
    assert outcomes(files) == states({"a": b"old"}, {"d/a": b"old"})
    files.sync_directory("d")
    assert outcomes(files) == states({"d/a": b"old"})


def test_a_directory_may_be_lost_with_all_that_it_holds(files: MemoryFiles) -> None:
    files.make_directory("d")
    file = files.create("d/x")
    file.write(b"1")
    file.sync()
    files.sync_directory("d")
    assert outcomes(files) == states({"a": b"old"}, {"a": b"old", "d/x": b"1"})
    files.sync_directory(".")
    assert outcomes(files) == states({"a": b"old", "d/x": b"1"})


def test_replacing_a_file_leaves_the_old_one_or_the_new_one(files: MemoryFiles) -> None:
    files.put("d/a", b"old")
    replace_file(files, "d", "a", b"new")
    assert outcomes(files) == states({"a": b"old", "d/a": b"new"})
    for at in range(1, 8):
        files = MemoryFiles()
        files.put("d/a", b"old")
        files.fail("any", errno.EIO, at=at)
        try:
            replace_file(files, "d", "a", b"new")
        except OSError:
            left = {files.crash(chosen).snapshot()["d/a"] for chosen in (lambda _: 0, lambda n: n)}
            assert left <= {b"old", b"new"}
            assert "d/temp-a" not in files.snapshot()
        else:
            assert at == 6, "create, write, sync, rename, sync_directory"
            return


def test_the_death_of_the_process_loses_no_byte_but_makes_none_safer(files: MemoryFiles) -> None:
    file = files.append("a")
    file.write(b"1")
    files.create("b").write(b"2")
    after = files.kill()
    assert after.snapshot() == {"a": b"old1", "b": b"2"}
    assert after.crash().snapshot() == {"a": b"old"}
    file.write(b"3")
    assert after.snapshot()["a"] == b"old1"


def test_a_sync_that_failed_has_synced_nothing(files: MemoryFiles) -> None:
    file = files.append("a")
    file.write(b"1")
    files.fail("sync", errno.EIO, at=1)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    assert files.crash().snapshot() == {"a": b"old"}
    file.sync()
    assert files.crash().snapshot() == {"a": b"old1"}


def test_linux_forgets_what_a_failed_sync_should_have_written(files: MemoryFiles) -> None:
    files.forgetful_sync = True
    file = files.append("a")
    file.write(b"1")
    files.fail("sync", errno.EIO, at=1)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.sync()
    assert files.crash().snapshot() == {"a": b"old"}
    file = files.create("a")
    file.write(b"anew")
    file.sync()
    assert files.crash().snapshot() == {"a": b"anew"}


def test_a_file_stays_the_same_when_its_name_goes_to_another(files: MemoryFiles) -> None:
    file = files.append("a")
    files.create("b").close()
    files.rename("b", "a")
    file.write(b"lost")
    assert files.buffer("a") == b""
