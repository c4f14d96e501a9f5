"""Users of a console: the file, roles, a proxy's header, the audit file."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rillway.console.access import users
from rillway.console.access.audit import AuditFile
from rillway.console.access.users import Role, Users, read_users
from rillway.console.arguments import parse_options
from rillway.console.calls import PROXY_HEADER
from rillway.console.command import main as console_main
from rillway.console.console import Kind
from server.inprocess.server import InProcessClient
from tests.rillway.console.conftest import ORIGIN, Browser, Open
from tests.rillway.queues.keys import RQ

ENTRIES = "/api/s/0/orders/entries"
REMOVE = "/api/q/0/rq/default/remove"
FIELDS = {"fields": [["item", "lamp"]]}


@pytest.fixture(autouse=True)
def quick_hashes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(users, "COST", 2)
        yield


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One user of each role; the password is the name twice."""
    path = tmp_path / "users"
    for name, role in [("vera", "viewer"), ("otto", "operator"), ("ada", "admin")]:
        assert put(monkeypatch, path, name, role, password=name * 2) == 0
    return path


def put(monkeypatch: pytest.MonkeyPatch, path: Path, *words: str, password: str = "") -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))
    return console_main(["user", "--users", str(path), *words])


async def log_in(browser: Browser, name: str, password: str | None = None) -> int:
    form = {"user": name, "password": name * 2 if password is None else password, "to": "/"}
    headers = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}
    answer = await browser.post("/login", data=form, headers=headers)
    return answer.status_code


# -- the file --------------------------------------------------------------------------------------


def test_users_are_added_changed_and_removed(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {name: user.role for name, user in read_users(file).items()} == {
        "vera": Role.VIEWER, "otto": Role.OPERATOR, "ada": Role.ADMIN,
    }  # fmt: skip
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"veravera" not in file.read_bytes()
    assert put(monkeypatch, file, "vera", "admin", password="new") == 0
    known = Users(str(file))
    assert known.check("vera", "new") and not known.check("vera", "veravera")
    assert not known.check("nobody", "new")
    assert put(monkeypatch, file, "otto", "--remove") == 0
    assert known.find("otto") is None  # it is read again
    assert put(monkeypatch, file, "otto", "--remove") == 1
    assert put(monkeypatch, file, "eve", "viewer") == 1
    assert capsys.readouterr().err.splitlines() == [
        f"rillway console: {file}: there is no user otto",
        "rillway console: standard input has no password in its first line",
    ]


@pytest.mark.parametrize(
    "words",
    [["a b", "viewer"], ["a:b", "viewer"], ["ada", "king"], ["ada"], ["ada", "admin", "--remove"]],
)
def test_wrong_words_are_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    before = file.read_bytes()
    with pytest.raises(SystemExit) as end:
        put(monkeypatch, file, *words, password="x")
    assert end.value.code == 2
    assert file.read_bytes() == before


@pytest.mark.parametrize("line", ["ada", "ada:king:00:00", "ada:admin:zz:00", "a:b:c:d:e"])
def test_a_malformed_file_is_named_with_its_line(
    file: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    known = Users(str(file))
    with file.open("a") as text:
        text.write(f"# a comment\n\n{line}\n")
    with pytest.raises(ValueError, match="line 6 is not NAME:ROLE:SALT:HASH"):
        Users(str(file))
    assert known.find("ada") is not None  # as it was last read
    assert "line 6" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parse_options(["--users", str(file)])


@pytest.mark.parametrize(
    "words", [["--trusted-proxy", "10.0.0.1"], ["--users", "FILE", "--password-file", "FILE"]]
)
def test_options_that_do_not_fit_are_refused(file: Path, words: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse_options([str(file) if word == "FILE" else word for word in words])
    assert end.value.code == 2


# -- roles -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "add", "remove"), [("vera", 403, 403), ("otto", 200, 403), ("ada", 200, 200)]
)
async def test_a_role_bounds_what_a_viewer_may_do(
    open_console: Open, client: InProcessClient, file: Path, name: str, add: int, remove: int
) -> None:
    for request in RQ:
        client.execute(*request)  # type: ignore[arg-type]
    async with open_console(Kind.USERS, users=Users(str(file))) as browser:
        assert (await browser.get("/api/server")).status_code == 401
        assert await log_in(browser, name) == 303
        assert (await browser.get("/api/server")).status_code == 200
        answer = await browser.write(ENTRIES, FIELDS)
        assert answer.status_code == add
        if add == 403:
            assert answer.json()["error"]["code"] == "ROLE"
        assert (await browser.write(REMOVE, {"ids": ["w1"]})).status_code == remove
        page = (await browser.get("/q/0/rq/default")).text
        assert ('data-action="front"' in page) == (add == 200)
        assert ('data-action="remove"' in page) == (remove == 200)


async def test_a_wrong_password_and_an_unknown_user_are_refused_alike(
    open_console: Open, file: Path
) -> None:
    async with open_console(Kind.USERS, users=Users(str(file))) as browser:
        assert await log_in(browser, "ada", "wrong") == 403
        assert await log_in(browser, "nobody") == 403
        assert (await browser.get("/api/server")).status_code == 401


async def test_a_role_that_was_changed_counts_at_once(
    open_console: Open, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_console(Kind.USERS, users=Users(str(file))) as browser:
        assert await log_in(browser, "ada") == 303
        file.write_text(file.read_text().replace("ada:admin:", "ada:viewer:"))
        assert (await browser.get("/api/server")).status_code == 200
        assert (await browser.write(ENTRIES, FIELDS)).status_code == 403
        put(monkeypatch, file, "ada", "--remove")
        assert (await browser.get("/api/server")).status_code == 401


@pytest.mark.parametrize("is_removed", [False, True])
async def test_a_new_password_ends_sessions_of_the_old_one(
    open_console: Open, file: Path, monkeypatch: pytest.MonkeyPatch, is_removed: bool
) -> None:
    async with open_console(Kind.USERS, users=Users(str(file))) as browser:
        assert await log_in(browser, "ada") == 303
        if is_removed:  # and somebody of the same name added
            put(monkeypatch, file, "ada", "--remove")
        put(monkeypatch, file, "ada", "admin", password="new")
        assert (await browser.get("/api/server")).status_code == 401
        assert await log_in(browser, "ada") == 403
        assert await log_in(browser, "ada", "new") == 303
        assert (await browser.get("/api/server")).status_code == 200


async def test_two_headers_of_a_proxy_name_no_user(open_console: Open, file: Path) -> None:
    async with open_console(Kind.USERS, users=Users(str(file)), proxies=["127.0.0.1"]) as browser:
        names = [(PROXY_HEADER, "ada"), (PROXY_HEADER, "vera")]
        assert (await browser.get("/api/server", headers=names)).status_code == 401
        assert (await browser.get("/api/server", headers=names[:1])).status_code == 200


async def test_a_proxy_signs_users_in_from_its_address_only(open_console: Open, file: Path) -> None:
    async with open_console(Kind.USERS, users=Users(str(file)), proxies=["127.0.0.1"]) as browser:
        browser.headers[PROXY_HEADER] = "otto"
        page = await browser.get("/")
        token = page.text.partition('rillway-token" content="')[2].partition('"')[0]
        assert page.status_code == 200 and "otto" in page.text
        answer = await browser.write(ENTRIES, FIELDS, X_Rillway_Token=token)
        assert answer.status_code == 200
        assert (await browser.write(ENTRIES, FIELDS, X_Rillway_Token="guess")).status_code == 403
        browser.headers[PROXY_HEADER] = "nobody"
        assert (await browser.get("/api/server")).status_code == 401
    async with open_console(Kind.USERS, users=Users(str(file)), proxies=["10.0.0.1"]) as browser:
        browser.headers[PROXY_HEADER] = "otto"
        assert (await browser.get("/api/server")).status_code == 401


# -- audit -----------------------------------------------------------------------------------------


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_each_action_is_a_line_of_the_audit_file(
    open_console: Open, orders: InProcessClient, file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "audit"
    audit = AuditFile(str(path), lambda: 1_700_000_000.25)
    async with open_console(Kind.USERS, users=Users(str(file)), audit=audit) as browser:
        await log_in(browser, "otto")
        await browser.write(ENTRIES, FIELDS)
        await browser.write("/api/s/0/orders/g/none/ack", {"ids": ["1-0"]})
        await browser.write("/api/s/0/orders/g/mailers/claim", {"ids": "x"})
    assert lines(path)[0] == {
        "time": "2023-11-14T22:13:20.250Z", "event": "console", "user": "otto", "addr": "127.0.0.1",
        "name": "console", "db": 0, "command": "entries", "keys": ["orders"], "outcome": "ok",
    }  # fmt: skip
    assert [(one["command"], one["outcome"]) for one in lines(path)] == [
        ("entries", "ok"), ("ack", "ok"), ("claim", "BAD"),
    ]  # fmt: skip
    assert "lamp" not in path.read_text()


async def test_what_a_role_does_not_allow_is_noted(
    open_console: Open, orders: InProcessClient, file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "audit"
    settings: dict[str, Any] = {"users": Users(str(file)), "audit": AuditFile(str(path))}
    async with open_console(Kind.USERS, **settings) as browser:
        await log_in(browser, "vera")
        assert (await browser.write(ENTRIES, FIELDS)).status_code == 403
    (found,) = lines(path)
    assert (found["user"], found["command"], found["outcome"]) == ("vera", "entries", "ROLE")


async def test_a_full_disk_is_answered_with_what_was_done(
    open_console: Open, orders: InProcessClient
) -> None:
    async with open_console(audit=AuditFile("/dev/full")) as browser:
        answer = await browser.write(ENTRIES, FIELDS)
    assert answer.status_code == 409
    error = answer.json()["error"]
    assert error["code"] == "AUDIT"
    assert error["text"].startswith("ok, but not noted")


async def test_the_audit_file_may_be_renamed(
    open_console: Open, orders: InProcessClient, tmp_path: Path
) -> None:
    path = tmp_path / "audit"
    async with open_console(audit=AuditFile(str(path))) as browser:
        await browser.write(ENTRIES, FIELDS)
        path.rename(tmp_path / "audit.1")
        await browser.write(ENTRIES, FIELDS)
    assert len(lines(path)) == len(lines(tmp_path / "audit.1")) == 1


async def test_without_its_line_an_action_is_not_done(
    open_console: Open, orders: InProcessClient, tmp_path: Path
) -> None:
    length = orders.execute("XLEN", "orders")
    async with open_console(audit=AuditFile(str(tmp_path))) as browser:  # a folder
        answer = await browser.write(ENTRIES, FIELDS)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "AUDIT")
    assert orders.execute("XLEN", "orders") == length
