"""A user's project that has modules named as the layers are, and a FakeServer in its process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

LAYERS = ("server", "commands", "storage", "protocol")

USER = """
import importlib, sys, threading
sys.path.insert(0, {folder!r})
LAYERS = {layers!r}

def check():
    for name in LAYERS:
        module = importlib.import_module(name)
        assert module.OWNER == "user" and importlib.reload(module).OWNER == "user", module

if {order!r} == "before":
    check()
from rillway.testing import FakeServer
threads = [threading.Thread(target=check) for _ in range(8)]
for thread in threads: thread.start()
with FakeServer() as server, server.client() as client:
    check()
    client.xadd("s", {{"f": "v"}})
    assert client.eval("return math.random(1)", 0) == 1
    assert client.execute_command("COMMAND DOCS", "XADD")
    assert client.info("everything")
    check()
for thread in threads: thread.join()
ours = [n for n in sys.modules if n.split(".")[0] in LAYERS or n.lower() == "cython"]
assert sorted(ours) == sorted(LAYERS), ours
print("done")
"""


def run_beside_own_modules(python: Path, folder: Path, order: str, path: list[Path]) -> str:
    """Uses a FakeServer in a project that has modules of these names; what that printed."""
    for name in LAYERS:
        (folder / f"{name}.py").write_text("OWNER = 'user'\n")
    program = folder / "program.py"
    program.write_text(USER.format(folder=str(folder), layers=LAYERS, order=order))
    done = subprocess.run(
        [python, "-W", "error", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
