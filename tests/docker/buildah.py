"""buildah, with isolation by chroot and a storage of its own below .run/.

That much works where no container engine does: in a sandbox, as root, without overlay filesystems,
user namespaces or control groups.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# DOCKER_CACHE: a folder that survives, on a machine that checks out afresh for every run.
CACHE = Path(os.environ.get("DOCKER_CACHE", ROOT / ".run" / "docker"))
BASE = "localhost/rillway-base"
IMAGE = "localhost/rillway"


def command(name: str, *arguments: str) -> list[str]:
    """The words of a buildah command."""
    storage = ["--storage-driver", "vfs", "--root", str(CACHE / "storage")]
    return ["buildah", *storage, "--runroot", str(CACHE / "run"), name, *arguments]


def buildah(name: str, *arguments: str) -> str:
    """What the command printed, without the last newline. Raises CalledProcessError."""
    done = subprocess.run(
        command(name, *arguments),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return done.stdout.rstrip("\n")


def exists(image: str) -> bool:
    """Whether the storage has the image."""
    wanted = f"{image}:latest"
    return wanted in buildah("images", "--format", "{{.Name}}:{{.Tag}}").split()


def image_config(image: str) -> dict[str, Any]:
    """What the image says about how to run it: Entrypoint, Cmd, User, Healthcheck, ..."""
    config: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", image))["Docker"][
        "config"
    ]
    return config
