"""Build the image from docker/Dockerfile as it is, without a container engine or a registry.

A Debian 12 made by debootstrap, with its Python 3.11, replaces the Python image: it is passed
by --build-arg BASE. It stays in the cache; the image is built again each time. With --base, only
that is made. Needs root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.docker.buildah import BASE, CACHE, IMAGE, buildah, exists
from tests.docker.pip_settings import local_paths, parse_settings

PACKAGES = ("python3", "python3-venv", "ca-certificates")  # what the Python image has of its own
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def main(arguments: list[str]) -> int:
    if not may_chroot():
        print("docker-test runs the image by chroot, and that is not permitted here; are you root?")
        return 1
    CACHE.mkdir(parents=True, exist_ok=True)
    try:
        buildah("rm", "--all")  # containers of a run that was interrupted
        if not exists(BASE):
            timed(f"made {BASE}", make_base)
        if "--base" in arguments:
            return 0
        timed(f"built {IMAGE}", build)
        buildah("rmi", "--prune")  # the image of the run before
    except subprocess.CalledProcessError as error:
        print(error.stdout or "", f"{error.cmd[0]} failed with exit status {error.returncode}")
        return 1
    return 0


def may_chroot() -> bool:
    """Whether this process may do what `buildah --isolation chroot` does."""
    tried = subprocess.run(["unshare", "--mount", "--uts", "chroot", "/", "true"])
    return tried.returncode == 0


def timed(done: str, action: Callable[[], None]) -> None:
    started = time.monotonic()
    action()
    print(f"{done} in {time.monotonic() - started:.1f} s", flush=True)


def make_base() -> None:
    """Put a Debian with Python into buildah's storage. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        root = Path(folder) / "root"  # the folder around it is closed to all other users
        debootstrap(root)
        container = buildah("from", "scratch")
        buildah("add", "--quiet", container, str(root), "/")
        buildah("config", "--cmd", "python3", "--env", f"PATH={SEARCH_PATH}", container)
        buildah("commit", "--quiet", "--rm", container, BASE)


def debootstrap(folder: Path) -> None:
    """A small Debian 12 in `folder`; DEBIAN_MIRROR may name the server it comes from."""
    options = ["--variant=minbase", f"--include={','.join(PACKAGES)}"]
    mirror = filter(None, [os.environ.get("DEBIAN_MIRROR")])
    log = CACHE / "debootstrap.log"
    with log.open("wb") as output:
        made = subprocess.run(
            # It may leave /proc mounted in there; what is mounted in a namespace ends with it.
            ["unshare", "--mount", "debootstrap", *options, "bookworm", str(folder), *mirror],
            # Half of the time would go into bringing each file to the disk.
            env=os.environ | {"DPKG_FORCE": "unsafe-io"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    if made.returncode:
        print(*log.read_text().splitlines()[-20:], sep="\n")
    made.check_returncode()
    for leftover in ("var/cache/apt/archives", "var/lib/apt/lists"):
        shutil.rmtree(folder / leftover)


def build() -> None:
    """Build the image. Raises CalledProcessError; buildah has printed what went wrong."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True
    )
    settings = parse_settings(listed.stdout)
    mounts = [f"--volume={path}:{path}:ro" for path in local_paths(settings)]
    # A file that only we can read: an address may hold a password.
    with tempfile.NamedTemporaryFile("w", dir=CACHE) as file:
        settings.write(file)
        file.flush()
        options = ["--isolation", "chroot", "--format", "docker", "--file", "docker/Dockerfile"]
        options += ["--build-arg", f"BASE={BASE}", "--secret", f"id=pip,src={file.name}"]
        buildah("build", "--quiet", *options, *mounts, "--tag", IMAGE, ".")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
