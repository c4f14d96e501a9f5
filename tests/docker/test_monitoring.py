"""The alert rules and the dashboard in docker/, tried by Prometheus itself."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.conftest import StartRillway
from tests.support.programs import processes
from tests.support.programs.ports import free_port
from tests.support.programs.servers import ROOT
from tests.support.waiting import until

RULES = ROOT / "docker" / "prometheus"
DASHBOARD = json.loads((ROOT / "docker" / "grafana" / "rillway.json").read_text())
EXPRESSIONS = [
    target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())
]
# What the dashboards 763, 11835 and 14091 of grafana.com ask for.
OTHERS = {
    "up", "uptime_in_seconds", "connected_clients", "blocked_clients", "memory_used_bytes",
    "memory_max_bytes", "commands_total", "commands_duration_seconds_total",
    "keyspace_hits_total", "keyspace_misses_total", "net_input_bytes_total",
    "net_output_bytes_total", "db_keys", "db_keys_expiring", "expired_keys_total",
    "evicted_keys_total", "commands_processed_total", "memory_used_rss_bytes",
    "connected_slaves", "master_last_io_seconds_ago", "memory_fragmentation_ratio",
    "mem_fragmentation_ratio",
}  # fmt: skip


def promtool(*words: str) -> None:
    done = subprocess.run(["promtool", *words], cwd=RULES, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_fires_when_it_should_and_only_then() -> None:
    promtool("test", "rules", "rules.test.yml")
    alerts = re.findall(r"alert: (\w+)", (RULES / "rules.yml").read_text())
    tried = (RULES / "rules.test.yml").read_text()
    assert len(alerts) == 13
    assert all(tried.count(f"alertname: {alert}\n") == 1 for alert in alerts)
    assert all(f"alertname: {alert}, exp_alerts: []" in tried for alert in alerts)


def test_the_configuration_of_prometheus_is_valid() -> None:
    promtool("check", "config", "prometheus.yml")


def test_each_alert_has_a_runbook() -> None:
    text = (RULES / "rules.yml").read_text()
    urls = re.findall(r"runbook_url: (\S+)#(\S+)", text)
    assert len(urls) == text.count("- alert:")
    for page, place in urls:
        headings = re.findall(r"^## (\w+)$", (ROOT / page).read_text(), re.MULTILINE)
        assert place in map(str.lower, headings)


def filled_in(expression: str) -> str:
    """A query of the dashboard, with its variables as for all of everything."""
    expression = expression.replace("$__rate_interval", "1m")
    return re.sub(r"\$(instance|db|stream|group)\b", ".*", expression)


class Monitored:
    """A primary and a replica with something of everything, and a Prometheus that scrapes both."""

    def __init__(self, folder: Path, run: StartRillway) -> None:
        metrics = [free_port(), free_port()]
        directives = ("--metrics-latency-groups", "*", "--appendonly", "yes", "--maxmemory", "1gb")
        primary = run("--metrics-port", str(metrics[0]), *directives)
        run("--metrics-port", str(metrics[1]), "--replicaof", f"127.0.0.1 {primary.port}")
        self._redis: Any = redis.Redis(port=primary.port)
        self._redis.xgroup_create("orders", "mailers", mkstream=True)
        self.port = free_port()
        targets = ", ".join(f'"127.0.0.1:{port}"' for port in metrics)
        file = folder / "prometheus.yml"
        file.write_text(
            "scrape_configs:\n"
            "  - job_name: rillway\n"
            "    scrape_interval: 1s\n"
            f"    static_configs: [{{targets: [{targets}]}}]\n"
        )
        words = ("--config.file", str(file), "--storage.tsdb.path", str(folder / "data"))
        argv = ["prometheus", *words, "--web.listen-address", f"127.0.0.1:{self.port}"]
        self.process = processes.start(argv, folder=folder, output=folder / "prometheus.log")

    def work(self) -> None:
        """Add, deliver, fail."""
        for _ in range(20):
            self._redis.xadd("orders", {"item": "lamp"})
        self._redis.xreadgroup("mailers", "anna", {"orders": ">"}, count=10)
        self._redis.set("k", "v", ex=100)
        self._redis.get("k")
        with pytest.raises(redis.ResponseError):
            self._redis.lpush("k", "v")

    def has(self, expression: str) -> bool:
        """Whether a query returns numbers."""
        query = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/query?{query}") as it:
                answer = json.load(it)
        except OSError:
            return False
        found = answer["data"]["result"]
        return bool(found) and all(each["value"][1] != "NaN" for each in found)


@pytest.fixture
def monitored(tmp_path: Path, run_rillway: StartRillway) -> Iterator[Monitored]:
    made = Monitored(tmp_path, run_rillway)
    yield made
    processes.stop(made.process)


@pytest.mark.integration
def test_every_query_of_the_dashboards_returns_data(monitored: Monitored) -> None:
    wanted = {filled_in(expression) for expression in EXPRESSIONS}
    wanted |= {f"redis_{name}" for name in OTHERS}
    assert len(wanted) > 60

    def all_have_data() -> bool:
        monitored.work()
        wanted.difference_update([each for each in wanted if monitored.has(each)])
        return not wanted

    try:
        until(all_have_data, "data")
    finally:
        assert wanted == set()
