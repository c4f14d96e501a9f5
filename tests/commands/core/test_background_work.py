"""Background work, which no client waits for."""

from __future__ import annotations

from collections.abc import Iterator

from commands.core.background_work import BackgroundWork


def tasks(errors: list[Exception] | None = None) -> BackgroundWork:
    return BackgroundWork((errors if errors is not None else []).append)


def count_to(number: int, log: list[str], name: str = "") -> Iterator[None]:
    for step in range(number):
        log.append(f"{name}{step}")
        yield


def test_a_step_does_one_piece_of_one_chore() -> None:
    log: list[str] = []
    work = tasks()
    work.free(count_to(2, log))
    assert work.step()
    assert log == ["0"]


def test_chores_run_slices() -> None:
    log: list[str] = []
    work = tasks()
    work.free(count_to(2, log, "a"))
    work.free(count_to(2, log, "b"))
    work.finish()
    assert log == ["a0", "b0", "a1", "b1"]


def test_removed_data_is_freed_before_other_data_is_tidied() -> None:
    log: list[str] = []
    work = tasks()
    work.tidy(count_to(1, log, "tidy"))
    work.free(count_to(1, log, "free"))
    work.finish()
    assert log == ["free0", "tidy0"]


def test_nothing_is_tidied_while_a_child_lives() -> None:
    log: list[str] = []
    work = tasks()
    work.tidy(count_to(1, log))
    assert not work.has_work(child_lives=True)
    assert not work.step(child_lives=True)
    assert work.has_work()
    assert log == []


def test_memory_is_freed_while_a_child_lives() -> None:
    log: list[str] = []
    work = tasks()
    work.free(count_to(1, log))
    assert work.has_work(child_lives=True)
    assert work.step(child_lives=True)
    assert log == ["0"]


def test_objects_count_as_unfreed_until_their_chore_has_ended() -> None:
    work = tasks()
    work.free(count_to(1, []), objects=3)
    work.step()
    assert (work.unfreed_objects, work.freed_objects) == (3, 0)
    work.step()
    assert (work.unfreed_objects, work.freed_objects) == (0, 3)


def test_a_chore_that_fails_is_reported_and_does_not_stop_the_others() -> None:
    def failing() -> Iterator[None]:
        yield
        raise RuntimeError("a defect")

    errors: list[Exception] = []
    log: list[str] = []
    work = tasks(errors)
    work.tidy(failing())
    work.tidy(count_to(3, log))
    work.finish()
    assert [str(error) for error in errors] == ["a defect"]
    assert log == ["0", "1", "2"]
    assert not work


def test_a_chore_may_add_another_one() -> None:
    log: list[str] = []
    work = tasks()

    def parent() -> Iterator[None]:
        work.free(count_to(1, log))
        yield

    work.free(parent())
    work.finish()
    assert log == ["0"]


def test_nothing_is_left_after_clear() -> None:
    log: list[str] = []
    work = tasks()
    work.free(count_to(1, log))
    work.tidy(count_to(1, log))
    work.clear()
    assert not work.step()
    assert log == []


def test_an_answer_comes_before_everything_else_also_while_a_child_lives() -> None:
    log: list[str] = []
    work = tasks()
    work.free(count_to(1, log, "free"))
    work.answer(count_to(2, log, "answer"))
    assert (len(work), work.is_awaited) == (2, True)
    assert work.has_work(child_lives=True)
    while work.step(child_lives=True):
        pass
    assert log == ["answer0", "answer1", "free0"]
    assert not work.is_awaited
