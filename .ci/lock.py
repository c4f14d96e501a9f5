"""Pin all dependencies by hash: what `make lock` runs, with uv in the same environment.

    docker/requirements.txt         what the server and the console need: the image
    docker/build-requirements.txt   what builds the wheel
    .ci/requirements.txt            what development, tests and the pipeline need: CI
    .ci/data-set.txt                the demo's data set, without what it declares
    .ci/oldest-spark.txt            the oldest Spark, for its own tests
    .ci/connect.txt                 what a client of Spark Connect needs, for its test
    .ci/bench-programs.txt          programs that only `make bench` runs
    .ci/bench-arq.txt               arq, which needs an older redis-py

They hold for every platform and every Python that pyproject.toml allows. Versions that are locked
stay where they are allowed, unless --upgrade is given. All files agree on a version.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PYTHON = "3.11"  # the oldest
SERVER = "docker/requirements.txt"
# File -> what it is made from, and further options.
LOCKS: dict[str, list[str]] = {
    SERVER: ["pyproject.toml", "--extra", "console"],
    ".ci/requirements.txt": [
        "pyproject.toml", "--group", "dev", "--extra", "console", "--extra", "iceberg",
        "--extra", "pipeline", "--extra", "testing",
        "--constraint", SERVER,
    ],
    "docker/build-requirements.txt": ["-", "--constraint", ".ci/requirements.txt"],
    ".ci/data-set.txt": ["-", "--no-deps"],
    ".ci/oldest-spark.txt": ["-"],
    ".ci/connect.txt": ["-", "--constraint", ".ci/requirements.txt"],
    ".ci/bench-programs.txt": ["-", "--constraint", ".ci/requirements.txt"],
    ".ci/bench-arq.txt": ["-"],
}  # fmt: skip
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
(SPARK,) = [
    Requirement(words)
    for words in PROJECT["project"]["optional-dependencies"]["pipeline"]
    if words.startswith("pyspark")
]
# For those that are made from no file.
WANTED = {
    "docker/build-requirements.txt": "\n".join(PROJECT["build-system"]["requires"]),
    ".ci/data-set.txt": PROJECT["project"]["optional-dependencies"]["demo"][0],
    ".ci/connect.txt": "grpcio>=1.76,<2\ngrpcio-status<2\npandas>=2.2,<3\nzstandard>=0.25,<1",
    ".ci/bench-programs.txt": "django-redis>=6,<8\nhuey>=3,<4\nlimits>=5,<6",
    ".ci/bench-arq.txt": "arq>=0.28,<1",
    ".ci/oldest-spark.txt": f"pyspark=={min(each.version for each in SPARK.specifier)}",
}


def main(options: list[str]) -> int:
    """Write all files; `options` are uv's, such as --upgrade."""
    compiling = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal"]
    compiling += ["--python-version", PYTHON, "--generate-hashes", "--no-annotate"]
    compiling += ["--custom-compile-command", "make lock", *options]
    for path, source in LOCKS.items():
        done = subprocess.run(
            [*compiling, *source, "--output-file", path],
            cwd=ROOT, input=WANTED.get(path), text=True,
        )  # fmt: skip
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
