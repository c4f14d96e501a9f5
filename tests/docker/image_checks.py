"""The image, tried as people use it: options, variables, health check, SIGTERM, restarts.

Run by tests/docker/run.sh (`make docker-test`), which builds the image, and gives these checks a
network and process numbers of their own.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from tests.docker.buildah import BASE, IMAGE, buildah, image_config
from tests.docker.containers import USER_ID, Container, started

CONFIG = image_config(IMAGE)
OUTSIDE = "192.0.2.1"  # an address of this machine that is not on the loopback interface
STOP_SECONDS = 1.0
# What a server answers that has not loaded its data yet.
LOADING_SERVER = """
import socket
with socket.create_server(("", 6379)) as listener:
    while True:
        connection, _ = listener.accept()
        connection.recv(64)
        connection.sendall(b"-LOADING Redis is loading the dataset in memory\\r\\n")
"""
ADDED_BYTES = 150 * 1000**2
# docker run --read-only: the root, the volume, variables and words of what is run.
READ_ONLY = """
mount --bind "$1" "$1"
mount --options remount,ro,bind "$1"
mount --bind "$2" "$1/data"
mount --types proc proc "$1/proc"
root=$1
shift 2
exec chroot --userspec=999:999 "$root" env --ignore-environment --chdir=/data "$@"
"""


@pytest.fixture(scope="module")
def name() -> Iterator[str]:
    """A container made from the image. All checks run in it, one after the other."""
    name = buildah("from", IMAGE)
    # buildah would mount a volume of its own there, over the one that a check asks for.
    for folder in CONFIG["Volumes"]:
        buildah("config", "--volume", f"{folder}-", name)
    yield name
    buildah("rm", name)


@pytest.fixture(scope="module")
def root(name: str) -> Path:
    """The container's files, seen from here."""
    return Path(buildah("mount", name))


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """A folder for /data that belongs to the server's user, as a named volume does."""
    folder = tmp_path / "volume"
    folder.mkdir()
    os.chown(folder, USER_ID, USER_ID)
    return folder


@pytest.fixture
def container(name: str, tmp_path: Path, volume: Path) -> Container:
    return Container(name, CONFIG, tmp_path, volume)


def cli(*arguments: str) -> str:
    """What a real redis-cli prints."""
    words = ["redis-cli", *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=10).stdout.strip()


def used_bytes(folder: Path) -> int:
    words = ["du", "--summarize", "--bytes", str(folder)]
    return int(subprocess.run(words, check=True, capture_output=True).stdout.split()[0])


# -- what is in it -------------------------------------------------------------------------------


def test_it_adds_less_than_150_mb_to_its_base(root: Path) -> None:
    base = buildah("from", BASE)
    try:
        added_bytes = used_bytes(root) - used_bytes(Path(buildah("mount", base)))
    finally:
        buildah("rm", base)
    print(f"the image adds {added_bytes / 1e6:.1f} MB to its base")
    assert 0 < added_bytes < ADDED_BYTES


def test_what_built_it_is_not_in_it(root: Path) -> None:
    for pattern in ("pip*", "setuptools*"):
        assert not list(root.glob(f"opt/rillway/lib/*/site-packages/{pattern}"))
    for path in ("source", "tools", "wheel", "etc/pip.conf", "usr/bin/gcc"):
        assert not (root / path).exists(), path


def test_its_server_is_compiled(container: Container) -> None:
    with container.serving() as server:
        assert server.client.info("server")["rillway_compiled"] == 1


def test_it_declares_its_port_its_volume_and_a_user_whose_number_is_not_roots() -> None:
    assert CONFIG["ExposedPorts"] == {"6379/tcp": {}}
    assert CONFIG["Volumes"] == {"/data": {}}
    assert CONFIG["User"] == f"{USER_ID}:{USER_ID}"


# -- configuration -------------------------------------------------------------------------------


def test_without_arguments_it_serves_everyone_on_the_usual_port(container: Container) -> None:
    with container.serving():
        assert cli("-h", OUTSIDE, "PING") == "PONG"
        assert cli("XADD", "orders", "1-1", "item", "lamp") == "1-1"
        assert cli("-3", "XRANGE", "orders", "-", "+") == "1-1\nitem\nlamp"


def test_it_warns_in_one_line_that_it_is_open(container: Container) -> None:
    with container.serving() as server:
        lines = [line for line in server.log.read_text().splitlines() if "No password" in line]
        assert len(lines) == 1 and " # " in lines[0] and "RILLWAY_REQUIREPASS" in lines[0]


def test_with_a_password_there_is_nothing_to_warn_of(container: Container, tmp_path: Path) -> None:
    with started(container.words("--requirepass", "secret"), tmp_path) as server:
        server.wait_until(container.is_healthy)
        assert "No password" not in server.log.read_text()


def test_redis_py_talks_to_it(container: Container) -> None:
    with container.serving() as server:
        client = server.client
        client.xgroup_create("orders", "billing", id="$", mkstream=True)
        entry_id = client.xadd("orders", {"item": "lamp"})
        answer = client.xreadgroup("billing", "alice", {"orders": ">"}, block=1000)
        assert answer == [["orders", [(entry_id, {"item": "lamp"})]]]
        assert client.xack("orders", "billing", entry_id) == 1


@pytest.mark.parametrize("arguments", [("--port", "7000"), ("redis-server", "--port", "7000")])
def test_options_are_for_the_server(container: Container, arguments: tuple[str, ...]) -> None:
    with container.serving(*arguments, port=7000) as server:
        assert server.client.config_get("port") == {"port": "7000"}


def test_a_configuration_file_on_the_volume_is_read_and_wins_over_the_image(
    container: Container, volume: Path
) -> None:
    (volume / "my.conf").write_text("timeout 17\nprotected-mode yes\n")
    with container.serving("/data/my.conf", "--hz", "20") as server:
        assert server.client.config_get("timeout", "hz") == {"timeout": "17", "hz": "20"}
        assert "DENIED" in cli("-h", OUTSIDE, "PING")


def test_variables_are_directives(container: Container) -> None:
    variables = ("RILLWAY_STREAM_NODE_MAX_ENTRIES=200", "RILLWAY_PORT=7001")
    with container.serving(port=7001, variables=variables) as server:
        entries = server.client.config_get("stream-node-max-entries")
        assert entries == {"stream-node-max-entries": "200"}


def test_a_variable_that_names_no_directive_stops_the_start(container: Container) -> None:
    done = container.run(variables=("RILLWAY_MAXCLIENT=5",))
    assert done.returncode == 1
    assert "RILLWAY_MAXCLIENT=5\nunknown directive 'maxclient'" in done.stderr


def test_anything_else_is_a_command(container: Container) -> None:
    assert container.run("rillway", "--version").stdout.startswith("rillway ")
    assert container.run("id", "--user").stdout == f"{USER_ID}\n"
    assert container.run("sh", "-c", "exit 3").returncode == 3


# -- the process ---------------------------------------------------------------------------------


def test_the_server_takes_the_place_of_the_entry_points_shell(container: Container) -> None:
    with container.serving() as server:
        # `pid` is the one process of the container's user: no shell is left beside it.
        assert server.client.info("server")["process_id"] == server.pid


def test_it_may_write_to_its_volume(container: Container, volume: Path) -> None:
    with container.serving("--logfile", "/data/rillway.log"):
        assert "Ready to accept connections" in (volume / "rillway.log").read_text()


def test_sigterm_ends_it_within_a_second(container: Container) -> None:
    with container.serving() as server:
        server.client.xadd("orders", {"item": "lamp"})
        took_seconds = server.terminate()
        print(f"it stopped in {took_seconds * 1000:.0f} ms, buildah included")
        assert took_seconds <= STOP_SECONDS
        assert "bye bye" in server.log.read_text()


def test_sigterm_ends_it_as_process_1(root: Path, tmp_path: Path) -> None:
    # Linux spares process 1 the signals for which it has no handler. buildah's isolation does not
    # give the server that number, so here it is started without buildah.
    numbers = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    inside = [f"--root={root}", "--wd=/data", f"--setgid={USER_ID}", f"--setuid={USER_ID}"]
    environment = ["env", "--ignore-environment", *CONFIG["Env"]]
    server_words = [*CONFIG["Entrypoint"], *CONFIG["Cmd"]]
    with started([*numbers, *inside, *environment, *server_words], tmp_path) as server:
        server.wait_until(server.answers)
        assert server.client.info("server")["process_id"] == 1
        assert server.terminate() <= STOP_SECONDS


def test_it_serves_and_saves_with_a_read_only_root(
    root: Path, tmp_path: Path, volume: Path
) -> None:
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    words = [*CONFIG["Env"], *CONFIG["Entrypoint"], *CONFIG["Cmd"], "--appendonly", "yes"]
    shell = ["bash", "-euc", READ_ONLY, "bash", str(root), str(volume)]
    with started([*apart, *shell, *words], tmp_path) as server:
        server.wait_until(server.answers)
        assert server.client.set("k", "v") and server.client.save()
        assert server.client.info("persistence")["aof_last_write_status"] == "ok"
        assert (volume / "dump.rdb").exists() and (volume / "appendonlydir").is_dir()


def test_the_console_is_in_it(container: Container) -> None:
    done = container.run("python", "-c", "import rillway.console.command")
    assert done.returncode == 0, done.stderr


# -- the volume ----------------------------------------------------------------------------------


def test_data_is_there_again_after_a_restart_on_the_same_volume(container: Container) -> None:
    with container.serving() as server:
        fill(server.client)
        server.terminate()
        assert "Saving the final RDB snapshot" in server.log.read_text()
    with container.serving() as server:
        check_filled(server.client)


def test_data_in_the_append_only_file_is_there_again_after_sigkill(
    container: Container, volume: Path
) -> None:
    arguments = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
    with container.serving(*arguments) as server:
        fill(server.client)
        os.kill(server.pid, signal.SIGKILL)
        server.process.wait()
    names = [path.name for path in (volume / "appendonlydir").iterdir()]
    assert "appendonly.aof.manifest" in names
    with container.serving(*arguments) as server:
        check_filled(server.client)


def test_what_it_writes_belongs_to_its_user(container: Container, volume: Path) -> None:
    with container.serving("--appendonly", "yes") as server:
        fill(server.client)
        server.terminate()
    written = list(volume.rglob("*"))
    assert {volume / "dump.rdb", volume / "appendonlydir"} <= set(written)
    assert {path.stat().st_uid for path in written} == {USER_ID}


def fill(client: redis.Redis) -> None:
    """A stream with a message that is pending, and a string."""
    client.xadd("orders", {"item": "lamp"}, id="1-1")
    client.xgroup_create("orders", "billing", id="0")
    client.xreadgroup("billing", "alice", {"orders": ">"})
    client.set("text", "kept")


def check_filled(client: redis.Redis) -> None:
    assert client.xrange("orders") == [("1-1", {"item": "lamp"})]
    (pending,) = client.xpending_range("orders", "billing", "-", "+", 10)
    assert (pending["message_id"], pending["consumer"]) == ("1-1", "alice")
    assert client.get("text") == "kept"


# -- the health check ----------------------------------------------------------------------------


def test_the_health_check_fails_where_nothing_serves(container: Container) -> None:
    assert not container.is_healthy()


@pytest.mark.parametrize(
    "arguments",
    [(), ("--port", "7000"), ("--requirepass", "secret"), ("--bind", OUTSIDE), ("--bind", "::1")],
)
def test_the_health_check_passes_wherever_the_server_listens(
    container: Container, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    with started(container.words(*arguments), tmp_path) as server:
        server.wait_until(container.is_healthy)


def test_the_health_check_fails_while_the_server_loads_its_data(
    container: Container, tmp_path: Path
) -> None:
    # The health check knows a server by the last two words.
    words = container.words("python", "-c", LOADING_SERVER, "rillway", "serve")
    with started(words, tmp_path) as server:
        server.wait_until(lambda: "LOADING" in cli("PING"))
        assert not container.is_healthy()


def test_a_server_that_loads_for_an_hour_is_starting(container: Container) -> None:
    assert container.config["Healthcheck"]["StartPeriod"] == 3600 * 10**9


def test_the_health_check_fails_while_the_server_does_not_answer(container: Container) -> None:
    with container.serving() as server:
        assert container.is_healthy()
        os.kill(server.pid, signal.SIGSTOP)
        assert not container.is_healthy()
        os.kill(server.pid, signal.SIGCONT)
        assert container.is_healthy()
