"""Which packages go into the wheel, and where, and what is compiled on demand.

The folders `server`, `commands`, `storage` and `protocol` are top-level packages in the repository.
Installed under those names they would shadow a user's own, so the wheel lays them under
`rillway/app/`. The list is worked out from the tree: a new sub-package needs no change here.

Spark finds a format by a top-level module named pyspark_*: those of `spark_formats/` are all that
is installed beside `rillway`.

With COMPILE_RILLWAY=1 in the environment, mypyc turns the modules that each request runs through
into C. The sources stay as they are, and lie beside it: without a compiler the same code runs,
only slower. docs/benchmarks.md says how much.
"""

import os
from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

LAYERS = ("server", "commands", "storage", "protocol")
FORMATS = "spark_formats"
APP = "rillway/app"

# What a request runs through, from its bytes to its reply. Not all of the layers: compiled code
# takes what is not typed for it as it is, and gains nothing where C does the work already.
COMPILED = (
    "protocol/errors.py",
    "protocol/replies.py",
    "protocol/request_runs.py",
    "protocol/requests.py",
    "storage/additions.py",
    "storage/entry.py",
    "storage/entry_id.py",
    "storage/node.py",
    "storage/node_list.py",
    "storage/open_node.py",
    "storage/stream.py",
    "commands/blocking.py",
    "commands/client.py",
    "commands/registry.py",
    "commands/stats.py",
    "commands/streams/acknowledge.py",
    "commands/streams/add.py",
    "commands/streams/add_each.py",
    "commands/streams/add_run.py",
    "commands/streams/claim.py",
    "commands/streams/delivery.py",
    "commands/streams/idle_entries.py",
    "commands/streams/ids.py",
    "commands/streams/lookup.py",
    "commands/streams/pending.py",
    "commands/streams/ranges.py",
    "commands/streams/read.py",
    "commands/streams/read_group.py",
    "commands/streams/read_request.py",
    "commands/streams/remembered.py",
    "commands/streams/trim.py",
    "server/admission.py",
    "server/cycle.py",
    "server/dispatch.py",
    "server/gathering.py",
    "server/propagation.py",
    "server/session.py",
    "server/waiters.py",
)


def with_subpackages(name: str) -> list[str]:
    return find_packages(include=[name, f"{name}.*"])


def compiled_modules() -> list[Extension]:
    from mypyc.build import mypycify  # not there where nothing is compiled

    # The libraries beneath need not be there to compile; what they return has any type, which the
    # strict rules of pyproject.toml would not take.
    options = ["--config-file=", "--explicit-package-bases", "--ignore-missing-imports"]
    extensions: list[Extension] = mypycify([*options, *COMPILED], group_name="rillway")
    return extensions


class build_into_app(build_ext):  # noqa: N801 (setuptools calls it by the name of the command)
    """Lays what is compiled beside its source, where the wheel has that."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.build_lib = str(Path(self.build_lib, APP))


is_compiled = os.environ.get("COMPILE_RILLWAY") == "1"
# pip first asks what the build needs, and runs this once more when that is there.
has_compiler = find_spec("mypyc") is not None

setup(
    packages=with_subpackages("rillway")
    + [f"rillway.app.{package}" for layer in LAYERS for package in with_subpackages(layer)],
    py_modules=sorted(path.stem for path in Path(FORMATS).glob("pyspark_*.py")),
    package_dir={
        "": FORMATS,
        "rillway": "rillway",
        **{f"rillway.app.{layer}": layer for layer in LAYERS},
    },
    package_data={f"{APP.replace('/', '.')}.commands.scripting": ["lua/*.lua"]},
    setup_requires=["mypy>=1.10"] if is_compiled and not has_compiler else [],
    ext_modules=compiled_modules() if is_compiled and has_compiler else [],
    cmdclass={"build_ext": build_into_app},
)
