"""The commands of docs/how-to/on-call.md, each part beside a server in its state."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from rillway.cluster.folder import ClusterFolder
from tests.docs.snippets import Page
from tests.docs.test_snippets import ON_CALL

SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", ON_CALL.read_text(), re.M | re.S))
MARK = re.compile(r"<!-- state(?:: (\w+))? -->")

OFTEN = ("Lag grows", "A poisoned entry")  # by `make test`, too; all of them each night
# What comes before a part, by its title and the name of the mark: blocks as in a page.
STATES = {
    ("Memory grows", ""): """
```console
$ rillway serve --maxmemory 64mb
$ for i in $(seq 20000); do echo "XADD orders $i-1 item lamp"; done | redis-cli >/dev/null
$ redis-cli XGROUP CREATE orders billing 0
$ redis-cli --raw XREADGROUP GROUP billing one COUNT 20000 NOACK STREAMS orders '>' >/dev/null
```
""",
    ("Lag grows", ""): """
```console
$ rillway serve
$ for i in $(seq 100); do echo "XADD orders $i-1 item lamp"; done | redis-cli >/dev/null
$ redis-cli XGROUP CREATE orders billing 0
$ redis-cli XREADGROUP GROUP billing one COUNT 10 STREAMS orders '>'
$ redis-cli XCLAIM orders billing one 0 1-1 2-1 3-1 4-1 5-1 6-1 7-1 8-1 9-1 10-1 IDLE 60000 JUSTID
```
""",
    ("A poisoned entry", ""): """
```console
$ rillway serve
$ redis-cli XADD orders 1-1 amount ten
$ redis-cli XGROUP CREATE orders billing 0
$ redis-cli XREADGROUP GROUP billing one STREAMS orders '>'
$ redis-cli XCLAIM orders billing one 0 1-1 RETRYCOUNT 7
```
""",
    ("The disk is full", ""): """
```console
$ ulimit -S -f 64
$ rillway serve --appendonly yes
$ head -c 100000 /dev/zero | tr '\\0' x | redis-cli -x SET filler >/dev/null || true
```
""",
    ("The disk is full", "room"): """
```console
$ pid=$(redis-cli --raw INFO server | grep -o 'process_id:[0-9]*' | cut -d: -f2)
$ prlimit --fsize=unlimited --pid $pid
```
""",
    ("A replica does not catch up", ""): """
```console
$ mkdir two
$ rillway serve --requirepass secret --repl-diskless-sync-delay 0
$ rillway serve --port 7002 --dir two --replicaof "127.0.0.1 6379" --masterauth wrong \\
    --logfile server.log
$ until grep -q WRONGPASS two/server.log; do sleep 0.1; done
```
""",
    ("A node is lost", ""): """
```console
$ rillway cluster start --nodes 1 --port 7000
$ redis-cli -p 7000 XADD orders 1-1 item lamp
$ kill -9 $(redis-cli -p 7000 --raw INFO server | grep -o 'process_id:[0-9]*' | cut -d: -f2)
$ while redis-cli -p 7000 PING >/dev/null 2>&1; do sleep 0.1; done
```
""",
    ("A certificate has expired", ""): """
```python
import datetime, trustme
ca, now = trustme.CA(), datetime.datetime.now(datetime.timezone.utc)
ca.cert_pem.write_to_path("ca.crt")
for name, days in (("server", -1), ("renewed", 90)):
    issued = ca.issue_cert(
        "localhost", not_before=now - datetime.timedelta(30),
        not_after=now + datetime.timedelta(days),
    )
    issued.private_key_pem.write_to_path(f"{name}.key")
    issued.cert_chain_pems[0].write_to_path(f"{name}.crt")
```

```console
$ rillway serve --tls-port 7001 --tls-cert-file server.crt --tls-key-file server.key \\
    --tls-ca-cert-file ca.crt --tls-auth-clients no
$ ! redis-cli --tls --cacert ca.crt -h localhost -p 7001 PING 2>/dev/null | grep PONG
```
""",
    ("FLUSHALL by mistake", ""): """
```console
$ rillway serve --dir . --appendonly yes --aof-timestamp-enabled yes --audit-log audit.log \\
    --audit-events keys-removed
$ for i in $(seq 100); do echo "XADD orders $i-1 item lamp"; done | redis-cli >/dev/null
$ MOMENT=$(date -u +%FT%TZ); until [ $(date -u +%FT%TZ) != $MOMENT ]; do sleep 0.1; done
$ redis-cli FLUSHALL
```
""",
    ("An upgrade must be undone", ""): """
```console
$ printf '#!/bin/sh\\nexec rillway "$@"\\n' >rillway-before && chmod +x rillway-before
$ rillway serve --dir . --appendonly yes
$ redis-cli XADD orders 1-1 item lamp
```
""",
}  # fmt: skip


def with_states(title: str) -> str:
    """The part of the page with its states in place of their marks; its blocks are to be run."""
    text = re.sub(r"<!-- not run: .*? -->\n", "", SECTIONS[title])
    return MARK.sub(lambda mark: STATES[title, mark[1] or ""], text)


@pytest.mark.integration
@pytest.mark.parametrize(
    "title",
    [
        pytest.param(title, marks=() if title in OFTEN else pytest.mark.thorough)
        for title in SECTIONS
    ],
)
def test_the_commands_of_a_symptom_do_what_the_page_says(title: str, tmp_path: Path) -> None:
    try:
        Page(with_states(title), tmp_path, thorough=True).run()
    finally:
        end_nodes(tmp_path / "rillway-cluster")


def end_nodes(folder: Path) -> None:
    """Kill the nodes of a cluster that a part has started: they run on without it."""
    if folder.exists():
        for process in ClusterFolder(folder).processes():
            if process.pid is not None:
                os.kill(process.pid, signal.SIGKILL)


def test_each_state_is_used() -> None:
    found = {(title, name) for title, text in SECTIONS.items() for name in MARK.findall(text)}
    assert found == set(STATES)
