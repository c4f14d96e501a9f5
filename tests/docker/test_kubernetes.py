"""docker/kubernetes: kubectl renders the bases, and what they say is what the server has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import redis
import yaml  # type: ignore[import-untyped]

from rillway.backup.arguments import parse_options
from server.config_file import load_configuration
from server.inprocess.server import InProcessServer
from tests.support.certificates import Authority
from tests.support.programs import processes
from tests.support.programs.ports import free_port, free_ports
from tests.support.programs.servers import ROOT, begin_rillway, start_rillway
from tests.support.waiting import until

FOLDER = ROOT / "docker/kubernetes"
BASES = ("server", "cluster", "monitoring")
OPERATOR = {"ServiceMonitor", "PrometheusRule"}  # of the Prometheus operator: no schema here
VERSION = "1.31"


@cache
def rendered(base: str) -> list[dict[str, Any]]:
    words = ["kubectl", "kustomize", str(FOLDER / base)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def pods(base: str) -> Iterator[dict[str, Any]]:
    """The specifications of the pods of a base."""
    for found in rendered(base):
        spec = found.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            yield spec["template"]["spec"]


@pytest.mark.parametrize("base", BASES)
def test_a_base_is_rendered_and_fits_the_schemas_of_kubernetes(base: str) -> None:
    found = rendered(base)
    assert len(found) >= 2
    for each in found:
        if each["kind"] not in OPERATOR:
            kubernetes_validate.validate(each, VERSION, strict=True)


def test_the_example_of_a_secret_fits_and_its_users_are_understood() -> None:
    secret = yaml.safe_load((FOLDER / "secret.example.yaml").read_text())
    kubernetes_validate.validate(secret, VERSION, strict=True)
    client = InProcessServer().connect()
    lines = secret["stringData"]["users.acl"].splitlines()
    assert len(lines) == 2
    for line in lines:
        word, *rule = line.split()
        assert (word, client.execute("ACL", "SETUSER", *rule)) == ("user", b"+OK\r\n")


@pytest.mark.parametrize("base", ["server", "cluster"])
def test_containers_are_no_root_and_write_to_volumes_only(base: str) -> None:
    secret = yaml.safe_load((FOLDER / "secret.example.yaml").read_text())["stringData"]
    for pod in pods(base):
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 999
        for container in pod["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"]
            keys = [
                each["valueFrom"]["secretKeyRef"]["key"]
                for each in container.get("env", ())
                if "secretKeyRef" in each.get("valueFrom", {})
            ]
            assert set(keys) <= set(secret)


@pytest.mark.parametrize("base", ["server", "cluster"])
def test_the_configuration_starts_a_server_and_probes_ask_for_what_it_has(base: str) -> None:
    config, _ = load_configuration([str(FOLDER / base / "rillway.conf")])
    assert (config.appendonly, config.metrics_port) == (True, 9121)
    pod = next(iter(pods(base)))
    assert pod["terminationGracePeriodSeconds"] > config.shutdown_timeout
    [container] = pod["containers"]
    endpoint = (ROOT / "server/metrics/endpoint.py").read_text()
    for probe in ("livenessProbe", "readinessProbe"):
        assert f'"{container[probe]["httpGet"]["path"]}"' in endpoint
    for each in container.get("env", ()):
        name = each["name"].removeprefix("RILLWAY_").lower()
        assert name == "pod" or hasattr(config, name)


@pytest.mark.integration
@pytest.mark.thorough
def test_the_server_of_the_base_is_ready_and_knows_its_users(tmp_path: Path) -> None:
    files = Authority(tmp_path).issue("tls")
    (tmp_path / "ca.crt").write_bytes((tmp_path / "ca.pem").read_bytes())
    secret = yaml.safe_load((FOLDER / "secret.example.yaml").read_text())["stringData"]
    (tmp_path / "users.acl").write_text(secret["users.acl"])
    text = (FOLDER / "server/rillway.conf").read_text()
    (tmp_path / "rillway.conf").write_text(text.replace("/etc/rillway-secret", str(tmp_path)))
    assert files.certificate == str(tmp_path / "tls.crt")
    port, metrics = free_port(), free_port()
    words = ("--tls-port", str(port), "--metrics-port", str(metrics), "--dir", str(tmp_path))
    process = begin_rillway(tmp_path / "log", str(tmp_path / "rillway.conf"), *words)
    try:
        with redis.Redis(
            port=port, ssl=True, ssl_ca_certs=str(tmp_path / "ca.crt"), password=secret["password"]
        ) as client:
            until(lambda: answers(client), "no answer")
            assert client.acl_whoami() == "default" and len(client.acl_list()) == 2
        for path in ("healthz", "readyz"):
            with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/{path}") as answer:
                assert answer.status == 200
    finally:
        process.kill()
        process.wait()


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def test_the_job_that_backs_up_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    _, pod = pods("server")
    [container] = pod["containers"]
    program, name, *words = container["args"]
    assert (program, name) == ("rillway", "backup")
    monkeypatch.setenv("RILLWAY_URL", "redis://:secret@rillway:6379")
    options = parse_options(words)
    assert (options.to, options.url) == ("/backups", "redis://:secret@rillway:6379")


def test_the_rules_are_those_of_prometheus() -> None:
    [rules] = [each for each in rendered("monitoring") if each["kind"] == "PrometheusRule"]
    assert rules["spec"] == yaml.safe_load((ROOT / "docker/prometheus/rules.yml").read_text())


def test_what_is_scraped_has_the_job_that_the_rules_ask_for() -> None:
    [monitor] = [each for each in rendered("monitoring") if each["kind"] == "ServiceMonitor"]
    for endpoint in monitor["spec"]["endpoints"]:
        assert {"targetLabel": "job", "replacement": "rillway"} in endpoint["relabelings"]


@pytest.mark.integration
@pytest.mark.thorough
def test_the_job_makes_a_cluster_and_introduces_nodes_whose_addresses_have_changed(
    tmp_path: Path,
) -> None:
    folders = [tmp_path / str(number) for number in range(4)]
    for folder in folders:
        folder.mkdir()
    for turn in range(2):  # in the second one with the same files, on other ports
        first = free_ports(4)
        with ExitStack() as stack:
            for number, folder in enumerate(folders):
                (folder / "rillway.log").unlink(missing_ok=True)  # it has the former port
                words = ["--cluster-enabled", "yes", "--cluster-node-timeout", "3000"]
                words += ["--repl-diskless-sync-delay", "0"]
                node = start_rillway(folder, *words, port=first + number)
                stack.callback(processes.stop, node.process)
                stack.callback(node.process.send_signal, signal.SIGKILL)
            join(first)
            with redis.RedisCluster(host="127.0.0.1", port=first) as client:
                assert client.incr("k") == 1  # nothing is on disk
                assert client.cluster_info()["cluster_known_nodes"] == "4"
            with redis.Redis(port=first + 3) as replica:
                until(lambda: replica.role()[3] == b"connected", f"no replica in turn {turn}")


def join(first_port: int) -> None:
    places = " ".join(f"127.0.0.1:{first_port + number}" for number in range(4))
    job = str(FOLDER / "cluster/join.py")
    for _ in range(2):  # it may run again
        done = subprocess.run(
            [sys.executable, job], capture_output=True, text=True, cwd=ROOT,
            env=os.environ | {"NODES": places, "PRIMARIES": "3", "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
