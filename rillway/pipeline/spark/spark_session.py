"""A Spark session that starts quickly and prints little, and errors in one line.

Spark's defaults suit a cluster: a web page for each session, 200 shuffle partitions, warnings
before logging is set up. Here a session serves one command, in UTC like the IDs of entries.

Settings of spark-submit stay as they are: master, memory, interfaces.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rillway.pipeline.ranges.loss import LOG_PREFIX
from rillway.pipeline.spark.class_archive import java_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Retries tasks, which plain `local[*]` does not.
LOCAL_MASTER = "local[*,4]"
JAVA_OPTIONS = "-XX:+UseParallelGC -XX:-UsePerfData"
# C1 only: a short command starts two seconds sooner, while a million rows take twice as long.
QUICK_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Limits the bytes of a batch for the sink: Spark's own limit counts rows.
    "spark.sql.execution.arrow.maxBytesPerBatch": "32m",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.sources.default": "parquet",
    "spark.sql.parquet.compression.codec": "zstd",
    # Dictionaries of values that hardly repeat are abandoned after a third of the work.
    **{
        f"spark.hadoop.parquet.enable.dictionary#{column}": "false"
        for column in ("id", "ms", "ts", "fields.list.element.value", "fields.key_value.value")
    },
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # On a single machine this costs more than it saves.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
}

NOISE_LINES = 50
SESSION_FAILED = (
    "Spark did not start. It needs Java 17 or newer: on Debian and Ubuntu, "
    "apt-get install openjdk-17-jre-headless."
)
EXTRA_MISSING = "this needs Spark: pip install 'rillway[pipeline]'"


class PipelineUnavailable(Exception):
    """Spark or Java is missing; the text says what to install."""


def spark_session(
    name: str = "rillway",
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    quick: bool = False,
) -> SparkSession:
    """Return the running session, or a new one.

    `master`: local[*,4] unless spark-submit or SPARK_MASTER sets another. `conf`: more settings.
    `quick`: start sooner and run slower, for a command that reads little. The formats of this
    package are registered. Raises PipelineUnavailable.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise PipelineUnavailable(EXTRA_MISSING) from None
    running = SparkSession.getActiveSession()
    if running is not None:
        register_formats(running)
        return running
    # Workers would use the first python3 on the path, which may lack Arrow.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    add_to_python_path(Path(__file__).resolve().parents[3])
    builder = SparkSession.builder.appName(name)
    for key, value in settings(master, conf or {}, quick=quick).items():
        builder = builder.config(key, value)
    noise = JvmNoise()
    try:
        with noise.redirected():
            session = builder.getOrCreate()
    except Exception as error:
        reasons = [SESSION_FAILED, *noise.lines, str(error)]
        raise PipelineUnavailable("\n".join(filter(None, reasons))) from None
    # It logs kilobytes of JSON for each error, which is raised anyway.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    register_formats(session)
    return session


def settings(master: str | None, conf: Mapping[str, str], *, quick: bool = False) -> dict[str, str]:
    """Return the settings for a new session, without those that spark-submit has set."""
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    chosen = dict(SETTINGS)
    if not submitted:
        chosen["spark.master"] = master or os.environ.get("SPARK_MASTER", LOCAL_MASTER)
    if chosen.get("spark.master", "").startswith("local["):
        chosen |= LOCAL_SETTINGS
        options = [QUICK_JAVA_OPTIONS if quick else JAVA_OPTIONS, java_options()]
        chosen["spark.driver.extraJavaOptions"] = " ".join(filter(None, options))
    return chosen | dict(conf)


def register_formats(spark: SparkSession) -> None:
    """Register `redis-streams` and the formats of groups, which Spark does not find everywhere.

    Spark looks for modules named pyspark_*, which exist if the package is installed.
    """
    from pyspark.errors import AnalysisException

    from rillway.pipeline.spark.datasource import RedisStreams
    from rillway.pipeline.spark.group_formats import RedisStreamsGroups, RedisStreamsPending

    for source in (RedisStreams, RedisStreamsPending, RedisStreamsGroups):
        try:
            spark.dataSource.register(source)
        except AnalysisException as error:
            # Spark before 4.2 has found it by itself, and refuses it a second time.
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise


def add_to_python_path(folder: Path) -> None:
    """Add a checkout to the path of workers, which import this package by name."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(folder) not in paths and "site-packages" not in folder.parts:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), *paths]))


class JvmNoise:
    """Filters the standard error of the JVM and its Python workers, from the first line on.

    Only lines that begin with the name of this package are passed on. The rest is noise, except
    when the start fails: then it shows why.
    """

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=NOISE_LINES)

    @contextmanager
    def redirected(self) -> Iterator[threading.Thread]:
        """Redirect the standard error of processes that are started meanwhile to a pipe.

        Yields the thread that reads the pipe, which ends with the last of these processes.
        """
        reading, writing = os.pipe()
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(writing, 2)
        os.close(writing)
        listener = threading.Thread(target=self._listen, args=(reading,), daemon=True)
        listener.start()
        try:
            yield listener
        finally:
            os.dup2(kept, 2)
            os.close(kept)

    def _listen(self, reading: int) -> None:
        with open(reading, errors="replace") as pipe:
            for line in pipe:
                self.lines.append(line.rstrip())
                if line.startswith(LOG_PREFIX):
                    sys.stderr.write(line)


RAISED = re.compile(
    r"(?:^|: )(?:[A-Za-z_][\w.]*\.)?"
    r"([A-Za-z_]\w*(?:Error|Exception|Lost|Conflict|Row|Entry|Missing)): (.+)$"
)


def _raised(line: str) -> re.Match[str] | None:
    """Return the innermost error in a line."""
    found = RAISED.search(line)
    while found is not None and (inner := RAISED.search(found[2])) is not None:
        found = inner
    return found


def root_cause(error: BaseException) -> str:
    """Return the cause of a Spark error in one line: the last Python error, or the last cause."""
    lines = str(error).splitlines()
    found = [match for line in lines if (match := _raised(line.strip()))]
    ours = [
        match for match in found if not match[1].startswith(("PySpark", "Py4J", "PythonException"))
    ]
    if ours:
        return ours[-1][2]
    causes = [line.partition(": ")[2] for line in lines if line.startswith("Caused by: ")]
    if causes:
        return causes[-1].partition(": ")[2] or causes[-1]
    return next(filter(None, map(str.strip, lines)), type(error).__name__)
