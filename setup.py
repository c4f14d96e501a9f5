"""Which packages go into the wheel, and where; everything else is in pyproject.toml.

The folders `server`, `commands`, `storage` and `protocol` are top-level packages in the repository.
Installed under those names they would shadow a user's own, so the wheel lays them under
`rillway/app/`. The list is worked out from the tree: a new sub-package needs no change here.

Spark finds a format by a top-level module named pyspark_*: those of `spark_formats/` are all that
is installed beside `rillway`.
"""

from pathlib import Path

from setuptools import find_packages, setup

LAYERS = ("server", "commands", "storage", "protocol")
FORMATS = "spark_formats"


def with_subpackages(name: str) -> list[str]:
    return find_packages(include=[name, f"{name}.*"])


setup(
    packages=with_subpackages("rillway")
    + [f"rillway.app.{package}" for layer in LAYERS for package in with_subpackages(layer)],
    py_modules=sorted(path.stem for path in Path(FORMATS).glob("pyspark_*.py")),
    package_dir={
        "": FORMATS,
        "rillway": "rillway",
        **{f"rillway.app.{layer}": layer for layer in LAYERS},
    },
)
