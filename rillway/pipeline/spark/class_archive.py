"""An archive of Spark's classes for Java's class-data sharing: the JVM then starts faster.

A session starts in half the time with such an archive. Making it takes about 20 seconds and 200 MB,
once for each version of Spark and Java, so it is made only on request:

    python -m rillway.pipeline.spark.class_archive

It is stored in ~/.cache/rillway (or $XDG_CACHE_HOME) and used from then on. The JVM ignores an
archive of another version.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

# Otherwise the JVM reports on standard output that an archive does not fit.
QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
MAKE_SECONDS = 300.0

WORK = """
from rillway.pipeline.spark.spark_session import spark_session
spark = spark_session("class archive", conf={"spark.driver.extraJavaOptions": %r})
rows = spark.range(1000).selectExpr("id", "cast(id AS STRING) AS text")
rows.write.mode("overwrite").parquet(%r)
spark.read.parquet(%r).where("id > 5").groupBy("text").count().orderBy("text").collect()
spark.stop()
"""


def archive_path() -> Path | None:
    """Return the path of the archive for this Spark and Java; None if one is missing."""
    java = find_java()
    if java is None:
        return None
    try:
        from pyspark import __version__
    except ImportError:
        return None
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    # Another JVM of the same name refuses the archive by itself.
    key = hashlib.sha256(f"{java} {java.stat().st_size}".encode()).hexdigest()[:12]
    return cache / "rillway" / f"spark-{__version__}-{key}.jsa"


def find_java() -> Path | None:
    """Return the path of the `java` that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    return Path(found).resolve() if found and Path(found).exists() else None


def java_options() -> str:
    """Return the options that make the JVM use the archive, or "" if there is none."""
    path = archive_path()
    return f"-XX:SharedArchiveFile={path} {QUIET}" if path and path.exists() else ""


def make_archive() -> Path:
    """Run a small job and store the classes it used. Raises RuntimeError if that fails."""
    path = archive_path()
    if path is None:
        raise RuntimeError("neither Java nor Spark may be missing")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    work = path.with_suffix(f".{os.getpid()}.work")
    options = f"-XX:ArchiveClassesAtExit={unfinished} {QUIET}"
    script = WORK % (options, str(work), str(work))
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=MAKE_SECONDS
        )
        if done.returncode or not unfinished.exists():
            raise RuntimeError(f"Spark failed:\n{done.stderr.strip()}")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
        shutil.rmtree(work, ignore_errors=True)
    return path


def main() -> int:
    print("Running Spark once, to keep the classes that it needs...", flush=True)
    try:
        path = make_archive()
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
