"""Which packages go into the wheel, and where, and what is compiled.

The folders `server`, `commands`, `storage` and `protocol` are top-level packages in the repository.
Installed under those names they would shadow a user's own, so the wheel has them as
`rillway.app.server` and so on, and their imports are renamed (rillway/app/checkout.py). The list is
worked out from the tree: a new sub-package needs no change here.

Spark finds a format by a top-level module named pyspark_*: those of
`rillway/pipeline/spark/formats/` are all that is installed beside `rillway`.

Cython compiles the modules that each request runs through, all of them or none: they know the
inside of each other's objects. A wheel has no sources of these: nothing would read them. Without a
C compiler, with COMPILE_RILLWAY=0 in the environment and in an editable installation the same code
runs as it is, only slower; COMPILE_RILLWAY=1 makes a missing compiler an error. CFLAGS of the
environment take the place of OPTIONS.
docs/architecture/packaging.md says more.
"""

import hashlib
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Lock
from typing import Any

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

LAYERS = ("server", "commands", "storage", "protocol")
FORMATS = "rillway/pipeline/spark/formats"
APP = "rillway/app"
NAMES = f"{APP}/checkout.py"
# What Cython reads: the sources with their imports renamed, in the folders of a wheel.
RENAMED = Path("build/renamed")
# Overloads, which are for type checkers, leave functions that nothing calls.
OPTIONS = "-O1 -g0 -Wno-unused-function"
# With GCC: what runs once, as a module is imported, is not optimised. Passes are left out that take
# a quarter of the time and save no case of `make micro` 3 % of its instructions.
QUICKER = (
    "-DCYTHON_SMALL_CODE=__attribute__((cold,optimize(0)))",
    *(
        f"-fno-{name}"
        for name in (
            "tree-dominator-opts",
            "ipa-modref",
            "ipa-pure-const",
            "ipa-profile",
            "ipa-reference",
            "cprop-registers",
            "combine-stack-adjustments",
            "shrink-wrap",
            "forward-propagate",
        )
    ),
)
# Compiled with -O2, which takes the C compiler longer: without it a case of `make micro` would
# execute clearly more instructions.
HOT = (
    "protocol/request.py",
    "server/requests/dispatch.py",
    "storage/types/packed_table.py",
    "storage/types/records.py",
    "storage/types/value.py",
    "storage/append_only/request_writer.py",
    "storage/entries/entry_id.py",
    "storage/redis_format/",
    "storage/snapshot/",
    "commands/core/client.py",
    "commands/streams/add.py",
    "commands/keys/pattern.py",
)
HOT_OPTIONS = OPTIONS.replace("-O1", "-O2")
# A fifth less to install: no symbols, and no padding to whole pages between parts of a module.
LINKING = ["-Wl,--strip-all", "-Wl,-z,noseparate-code"] if sys.platform == "linux" else []
# The functions of Cython that all modules use, compiled once.
SHARED = "protocol/shared_c.py"
CIMPORT = re.compile(rb"^from (rillway\.app\.[\w.]+) cimport (\([^)]*\)|.*)$", re.MULTILINE)
# The same where a module has it (with_own_cimports).
OWN_CIMPORT = re.compile(rb"; from cython\.cimports\.(rillway\.app\.[\w.]+) import (\w+)")
# What Cython makes of the sources in a source distribution.
WITH_C = Path("c")
# Compiled modules, for all builds in this checkout.
KEPT = Path("build/compiled")
# No pickling of objects, functions as those of C: a tenth less for the C compiler. No names for a
# sole argument: a twentieth less C. Code that is unreachable is the interpreted twin of compiled
# code.
DIRECTIVES = {
    "always_allow_keywords": False,
    "auto_pickle": False,
    "binding": False,
    "emit_code_comments": False,
    "optimize.unpack_method_calls": False,
    "warn.unreachable": False,
}
# A warning of Cython or of the C compiler is an error, as in .ci/run.
STRICT = os.environ.get("COMPILE_RILLWAY") == "strict"

# What a benchmark defends: each makes a case of `make micro` or of `make bench` faster. A module
# with a .pxd file beside it has C types; the others are compiled as they are.
COMPILED = (
    "protocol/request.py",
    "protocol/requests.py",
    "protocol/replies.py",
    "storage/types/value.py",
    "storage/types/hashes.py",
    "storage/keyspace/database.py",
    "storage/keyspace/ordered_index.py",
    "storage/keyspace/creation_order.py",
    "storage/keyspace/deadlines.py",
    "storage/keyspace/key_table.py",
    "storage/types/records.py",
    "storage/types/packed_table.py",
    "storage/types/list_nodes.py",
    "storage/types/quicklist.py",
    "storage/types/lists.py",
    "storage/types/sets.py",
    "storage/stream.py",
    "storage/append_only/request_writer.py",
    "storage/redis_format/listpack_elements.py",
    "storage/entries/entry.py",
    "storage/entries/entry_id.py",
    "storage/entries/packed_form.py",
    "storage/groups/claim_order.py",
    "storage/groups/group.py",
    "storage/groups/pending_block.py",
    "storage/groups/pending_list.py",
    "storage/nodes/open_node.py",
    "storage/nodes/frozen_node.py",
    "storage/nodes/node_list.py",
    "storage/redis_format/lzf.py",
    "storage/snapshot/stream_encoder.py",
    "commands/connection/client_memory.py",
    "commands/connection/basics.py",
    "commands/core/arguments.py",
    "commands/core/blocked_clients.py",
    "commands/core/client.py",
    "commands/core/instance.py",
    "commands/core/registry.py",
    "commands/geo/geometry.py",
    "commands/hashes/fields.py",
    "commands/keys/existence.py",
    "commands/keys/pattern.py",
    "commands/lists/elements.py",
    "commands/pubsub/registry.py",
    "commands/scripting/calls.py",
    "commands/scripting/interpreter.py",
    "commands/scripting/evaluation.py",
    "commands/sets/members.py",
    "commands/sorted_sets/ranges.py",
    "commands/sorted_sets/scores.py",
    "commands/streams/add.py",
    "commands/streams/groups/delivery.py",
    "commands/streams/groups/read_group.py",
    "commands/streams/groups/pending.py",
    "commands/streams/ranges.py",
    "commands/streams/read.py",
    "commands/transactions/transaction.py",
    "commands/strings/values.py",
    "server/persistence/append_only/writer.py",
    "server/loop/connection.py",
    "server/requests/admission.py",
    "server/requests/command_clock.py",
    "server/requests/dispatch.py",
    "server/loop/cycle.py",
    "commands/core/propagation.py",
    "server/requests/session.py",
    "server/requests/waiters.py",
    "server/persistence/loading/replay.py",
)


def with_subpackages(name: str) -> list[str]:
    return find_packages(include=[name, f"{name}.*"])


# Commands of setuptools that need nothing compiled.
UNCOMPILED = {"develop", "dist_info", "editable_wheel", "egg_info"}


def wants_compiled() -> bool:
    """Return True if modules are to be compiled; an editable installation runs the tree as it is.

    pip also asks what a build needs, and what its metadata are: nothing is compiled for that.
    """
    wanted = os.environ.get("COMPILE_RILLWAY", "")
    if wanted == "0" or not (UNCOMPILED.isdisjoint(sys.argv) or "sdist" in sys.argv):
        return False
    if wanted in ("1", "strict") or has_compiler():
        return True
    print("rillway: no C compiler was found, so nothing is compiled: the server runs slower")
    return False


def has_compiler() -> bool:
    """Return True if a C compiler and Python's headers are installed."""
    from setuptools._distutils.ccompiler import new_compiler
    from setuptools._distutils.errors import CompileError, DistutilsPlatformError
    from setuptools._distutils.sysconfig import customize_compiler, get_python_inc

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <Python.h>\n")
        try:
            compiler = new_compiler()
            customize_compiler(compiler)
            compiler.compile([str(source)], output_dir=folder, include_dirs=[get_python_inc()])
        except (CompileError, DistutilsPlatformError, OSError):
            return False
    return True


def compiled_modules() -> list[Extension]:
    """Return what is to be compiled, with its C code: of a source distribution, or by Cython."""
    modules = [extension(path) for path in (*COMPILED, SHARED)]
    if not WITH_C.is_dir():
        translate(modules)
    for module in modules:
        module.sources = [str(c_file(module))]
    return modules


def translate(modules: list[Extension]) -> None:
    """Have Cython make the C code of modules, in a process for each core, where it is out of date.

    The processes run a function of Cython's: pip executes this file without a module of its name.
    """
    from Cython.Build import cythonize  # not there where nothing is compiled
    from Cython.Compiler import Options

    texts = rename_sources()
    modules = [module for module in modules if is_out_of_date(module, texts)]
    Options.warning_errors = STRICT
    translate_one = partial(
        cythonize,
        force=True,
        build_dir=str(translated()),
        include_path=[str(RENAMED)],
        shared_utility_qualified_name=module_name(SHARED),
        language_level=3,
        quiet=True,
        show_all_warnings=False,
        compiler_directives=DIRECTIVES,
    )
    progress = Progress("translated to C", len(modules))
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        for _ in pool.map(translate_one, [[module] for module in modules]):
            progress.step()
    progress.end()


def translated() -> Path:
    """Return the folder for what this Cython makes by these rules."""
    from Cython import __version__ as version

    rules = repr((version, sorted(DIRECTIVES.items())))
    return Path("build", f"cython-{hashlib.sha256(rules.encode()).hexdigest()[:8]}")


def c_file(module: Extension) -> Path:
    folder = WITH_C if WITH_C.is_dir() else translated() / (RENAMED if module.sources else "")
    return folder / Path(*module.name.split(".")).with_suffix(".c")


def is_out_of_date(module: Extension, texts: dict[Path, bytes]) -> bool:
    """Return True if a module has no C code, or what that is made of has changed.

    Cython's own search does not find what with_own_cimports adds.
    """
    made = c_file(module)
    sources = {Path(source).relative_to(RENAMED / APP) for source in module.sources}
    sources |= {path.with_suffix(".pxd") for path in sources} & texts.keys()
    left = list(sources)
    while left:
        text = texts[left.pop()]
        for package, names in CIMPORT.findall(text) + OWN_CIMPORT.findall(text):
            folder = Path(*package.decode().split(".")[2:])
            found = {folder, *(folder / name.decode() for name in re.findall(rb"\w+", names))}
            types = {path.with_suffix(".pxd") for path in found} & texts.keys() - sources
            sources |= types
            left += types
    copies = [RENAMED / APP / path for path in sources]
    return not made.exists() or any(
        copy.stat().st_mtime_ns > made.stat().st_mtime_ns for copy in copies
    )


def rename_sources() -> dict[Path, bytes]:
    """Write what Cython reads, leaving alone what is there and has not changed."""
    renamed = runpy.run_path(NAMES)["with_private_imports"]
    sources = [path for layer in LAYERS for path in Path(layer).rglob("*.p[yx]*")]
    packages = [Path("__init__.py"), Path("..", "__init__.py")]
    texts = {path: renamed(path.read_bytes()) for path in sources if path.suffix in (".py", ".pxd")}
    for path in texts:
        types = path.with_suffix(".pxd")
        if path.suffix == ".py" and types in texts:
            texts[path], texts[types] = with_own_cimports(texts[path], texts[types])
    for path, text in (texts | dict.fromkeys(packages, b"")).items():
        copy = RENAMED / APP / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists() or copy.read_bytes() != text:
            copy.write_bytes(text)
    return texts


def with_own_cimports(module: bytes, types: bytes) -> tuple[bytes, bytes]:
    """Move the imports of a .pxd file that only its module uses into the module, line for line.

    Otherwise all modules that import the file have the types and inline functions in their C code,
    and so have those that import these.
    """
    used = set(re.findall(rb"\w+", re.sub(rb"#.*", b"", CIMPORT.sub(b"", types))))
    own: list[bytes] = []

    def without_own(found: re.Match[bytes]) -> bytes:
        names = re.findall(rb"\w+", found[2])
        own.extend(
            b"; from cython.cimports.%s import %s" % (found[1], name)
            for name in names
            if name not in used
        )
        kept = b", ".join(name for name in names if name in used)
        line = b"from %s cimport %s" % (found[1], kept) if kept else b""
        return line + b"\n" * found[0].count(b"\n")

    types = CIMPORT.sub(without_own, types)
    return module.replace(b"\nimport cython\n", b"\nimport cython%s\n" % b"".join(own), 1), types


def module_name(path: str) -> str:
    return f"rillway.app.{path.removesuffix('.py').replace('/', '.')}"


def extension(path: str) -> Extension:
    """Return a module to compile; without names for debuggers, unless CFLAGS are given."""
    usual = HOT_OPTIONS if path.startswith(HOT) else OPTIONS
    return Extension(
        module_name(path),
        [] if path == SHARED else [str(RENAMED / APP / path)],
        extra_compile_args=os.environ.get("CFLAGS", usual).split(),
        extra_link_args=[] if "CFLAGS" in os.environ else LINKING,
    )


class Progress:
    """A line that counts modules; without a terminal, one at the beginning and one at the end."""

    def __init__(self, what: str, total: int) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self.lock = Lock()
        self.started = time.monotonic()
        self.is_moving = sys.stderr.isatty()
        if not self.is_moving:
            print(f"rillway: {total} modules are being {what}", file=sys.stderr, flush=True)

    def step(self) -> None:
        with self.lock:
            self.done += 1
            if self.is_moving:
                line = f"\rrillway: {self.done} of {self.total} modules {self.what}"
                print(line, end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        line = "\r" if self.is_moving else ""
        line += f"rillway: {self.total} modules {self.what}"
        seconds = time.monotonic() - self.started
        print(f"{line} in {seconds:.0f} s", file=sys.stderr, flush=True)


class build_renamed(build_py):  # noqa: N801 (setuptools calls it by the name of the command)
    """Renames the imports of the layers; installed modules do without Cython's."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """The modules of a package; in a wheel, without the sources of those that are compiled."""
        found: list[tuple[str, str, str]] = super().find_package_modules(package, package_dir)
        if "bdist_wheel" in sys.argv and self.distribution.ext_modules:
            return [module for module in found if module[2] not in COMPILED]
        return found

    def build_module(self, module: str, module_file: str, package: Any) -> Any:
        written, copied = super().build_module(module, module_file, package)
        names = package if isinstance(package, str) else ".".join(package)
        if names.startswith("rillway.app."):
            rules = runpy.run_path(NAMES)
            text = Path(written).read_bytes()
            Path(written).write_bytes(rules["without_cython"](rules["with_private_imports"](text)))
        return written, copied


class build_once(build_ext):  # noqa: N801 (setuptools calls it by the name of the command)
    """Compiles what has changed.

    A C compiler takes a second or two for a module. So what was compiled is kept in the checkout,
    under a hash of all that it was made from: `make compiled`, `pip install .` and `make wheel`
    compile a module once for all of them.
    """

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self) -> None:
        self.version = compiler_version(self.compiler.compiler_so[0])
        if "CFLAGS" not in os.environ and takes_options(self.compiler.compiler_so, QUICKER):
            for ext in self.extensions:
                quicker = QUICKER[:1] if HOT_OPTIONS.split() == ext.extra_compile_args else QUICKER
                ext.extra_compile_args += quicker
        self.extensions.sort(key=compiler_work, reverse=True)
        self.progress = Progress("compiled", len(self.extensions))
        super().build_extensions()
        self.progress.end()

    def build_extension(self, ext: Extension) -> None:
        module = Path(self.get_ext_fullpath(ext.name))
        kept = KEPT / f"{ext.name}-{self.flags_digest(ext)}-{self.code_digest(ext)}"
        if not kept.exists():
            if STRICT:
                ext.extra_compile_args.append("-Werror")
            super().build_extension(ext)
            self.keep(module, kept)
        module.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(kept, module)
        self.progress.step()

    def flags_digest(self, ext: Extension) -> str:
        """Return a hash of the compiler, its options and the Python, wherever that is."""
        words = [word for word in self.compiler.compiler_so if not word.startswith("-I")]
        made_by = [self.version, sys.version, sysconfig.get_config_var("EXT_SUFFIX"), words]
        return digest(repr([*made_by, ext.extra_compile_args, ext.extra_link_args]).encode())

    def code_digest(self, ext: Extension) -> str:
        """Return a hash of the C code, but not of where Cython is installed (in file names)."""
        code = (Path(source).read_bytes() for source in ext.sources)
        return digest(*(re.sub(rb'"[^"\n]*Cython/Includes/', b'"', text) for text in code))

    def keep(self, module: Path, kept: Path) -> None:
        """Put a module into the store, in the place of its former one of the same options."""
        kept.parent.mkdir(parents=True, exist_ok=True)
        for former in kept.parent.glob(f"{kept.name.rpartition('-')[0]}-*"):
            former.unlink(missing_ok=True)
        being_copied = kept.with_name(f".{kept.name}.{os.getpid()}")
        shutil.copy(module, being_copied)
        being_copied.replace(kept)


def compiler_work(ext: Extension) -> int:
    """Return how much a C compiler has to do; what takes longest comes first, to end together."""
    size = sum(Path(source).stat().st_size for source in ext.sources)
    return 2 * size if "-O2" in ext.extra_compile_args else size


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def compiler_version(command: str) -> str:
    """Return the first line of what a C compiler says of itself; empty if it says nothing."""
    try:
        said = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return said.stdout.partition("\n")[0]


def takes_options(command: list[str], options: tuple[str, ...]) -> bool:
    """Return True if a C compiler knows all of these options; Clang says that it does not."""
    strict = [*command, *options, "-Werror", "-fsyntax-only", "-xc", os.devnull]
    return subprocess.run(strict, capture_output=True, check=False).returncode == 0


class sdist_with_c(sdist):  # noqa: N801 (setuptools calls it by the name of the command)
    """Adds the C code, so that a build from a source distribution needs no Cython."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        for module in self.distribution.ext_modules or []:
            copy = Path(base_dir, WITH_C, *module.name.split(".")).with_suffix(".c")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(module.sources[0], copy)


setup(
    packages=with_subpackages("rillway")
    + [f"rillway.app.{package}" for layer in LAYERS for package in with_subpackages(layer)],
    py_modules=sorted(path.stem for path in Path(FORMATS).glob("pyspark_*.py")),
    package_dir={
        "": FORMATS,
        "rillway": "rillway",
        **{f"rillway.app.{layer}": layer for layer in LAYERS},
    },
    # These and no others: what setuptools leaves beside the formats would be taken for data.
    include_package_data=False,
    package_data={
        "rillway": ["py.typed"],
        "rillway.console": ["templates/*.html", "static/*", "static/uplot/*"],
        f"{APP.replace('/', '.')}.commands": ["documentation.json"],
        f"{APP.replace('/', '.')}.commands.scripting": ["lua/*.lua"],
    },
    ext_modules=compiled_modules() if wants_compiled() else [],
    cmdclass={"build_ext": build_once, "build_py": build_renamed, "sdist": sdist_with_c},
)
