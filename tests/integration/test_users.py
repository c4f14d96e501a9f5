"""Users on disk: the ACL file, `user` lines, a start that is refused, and a replica's user."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartRillway
from tests.support.programs.servers import begin_rillway
from tests.support.resp import parse
from tests.support.waiting import until

pytestmark = pytest.mark.integration

ANN = "user ann on nopass sanitize-payload ~* resetchannels -@all +ping\n"


def test_saved_users_survive_a_kill(run_rillway: StartRillway, tmp_path: Path) -> None:
    file = tmp_path / "users.acl"
    file.write_text(ANN)
    server = run_rillway("--aclfile", str(file))
    with server.connect() as client:
        client.send("ACL", "SETUSER", "bob", "on", ">p", "~b*", "+get", "(~c +set)")
        assert client.send("ACL", "SAVE") == b"+OK\r\n"
        users = client.send("ACL", "LIST")
        client.send("ACL", "SETUSER", "carl")
    server.kill()
    with run_rillway("--aclfile", str(file)).connect() as client:
        assert client.send("ACL", "LIST") == users
        file.write_text(ANN + "user bob +nothing\n")
        assert b"users.acl:2: Error in applying operation '+nothing'" in client.send("ACL", "LOAD")
        assert client.send("ACL", "LIST") == users
        file.write_text(ANN)
        assert client.send("ACL", "LOAD") == b"+OK\r\n"
        assert client.send("AUTH", "bob", "p").startswith(b"-WRONGPASS")
        file.unlink()
        assert client.send("ACL", "LOAD").endswith(b"No such file or directory\r\n")
    assert [path.name for path in tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["user ann +nothing"], "Error loading ACL rule '+nothing' for the user named 'ann'"),
        (["user ann on", "user ann off"], "Duplicate user found."),
        (["user ann (~a"], "Unmatched parenthesis"),
        (["user"], "'user': its value is missing"),
        (["aclfile nowhere.acl"], "Aborting Redis startup because of ACL errors: Error loading"),
        (["aclfile x", "user ann on"], "define either an ACL file or declare users directly"),
    ],
)
def test_a_start_with_invalid_users_is_refused(tmp_path: Path, lines: list[str], text: str) -> None:
    file, log = tmp_path / "rillway.conf", tmp_path / "log"
    file.write_text("\n".join(["port 0", f"dir {tmp_path}", 'save ""', *lines]))
    process = begin_rillway(log, str(file))
    assert process.wait(60) == 1
    assert text in log.read_text()


def test_users_of_the_configuration_are_rewritten(
    run_rillway: StartRillway, tmp_path: Path
) -> None:
    file, log = tmp_path / "rillway.conf", tmp_path / "log"
    server = run_rillway()
    port = server.port
    server.stop()
    file.write_text(f'port {port}\ndir {tmp_path}\nsave ""\nuser ann on nopass ~a "(~b" +get)\n')
    process = begin_rillway(log, str(file))
    until(lambda: "Ready to accept" in log.read_text())
    with server.connect() as client:
        client.send("ACL", "SETUSER", "ann", "+set")
        client.send("ACL", "SETUSER", "bob", "on", ">p")
        assert client.send("CONFIG", "REWRITE") == b"+OK\r\n"
        users = [item.text.decode() for item in parse(client.send("ACL", "LIST")).items]
    process.terminate()
    assert process.wait(60) == 0
    assert [line for line in file.read_text().split("\n") if line.startswith("user ")] == users
    assert "(~b resetchannels -@all +get)" in users[0]


def test_a_replica_logs_in_as_the_user_that_it_is_given(run_rillway: StartRillway) -> None:
    primary = run_rillway("--user", "copier", "on", ">p", "+psync", "+replconf", "+ping")
    with primary.connect() as client:
        client.send("ACL", "SETUSER", "default", "on", ">secret")
        client.send("SET", "k", "v")
        replica = run_rillway(
            "--replicaof", "127.0.0.1", str(primary.port),
            "--masteruser", "copier", "--masterauth", "p", "--user", "reader", "on", "nopass",
            "~k", "+get",
        )  # fmt: skip
        with replica.connect() as reader:
            reader.send("AUTH", "reader", "x")
            until(lambda: reader.send("GET", "k") == b"$1\r\nv\r\n")
            # What the primary sends is not checked, by nobody's rights.
            client.send("SET", "k", "w")
            until(lambda: reader.send("GET", "k") == b"$1\r\nw\r\n")
            assert reader.send("SET", "k", "x").startswith(b"-NOPERM User reader")
        assert client.send("ACL", "LOG") == b"*0\r\n"
