"""Which packages go into the wheel, and where; everything else is in pyproject.toml.

The folders `server`, `commands`, `storage` and `protocol` are top-level packages in the repository.
Installed under those names they would shadow a user's own, so the wheel lays them under
`rillway/app/`. The list is worked out from the tree: a new sub-package needs no change here.
"""

from setuptools import find_packages, setup

LAYERS = ("server", "commands", "storage", "protocol")


def with_subpackages(name: str) -> list[str]:
    return find_packages(include=[name, f"{name}.*"])


setup(
    packages=with_subpackages("rillway")
    + [f"rillway.app.{package}" for layer in LAYERS for package in with_subpackages(layer)],
    package_dir={f"rillway.app.{layer}": layer for layer in LAYERS},
)
