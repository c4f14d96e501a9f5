"""The arguments of `rillway archive`. Imports nothing that the extra rillway[archive] installs."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

from rillway.command_line.arguments import (
    add_allow_missing,
    add_storage_options,
    add_url,
    duration,
    from_one,
    interval,
    server_url,
    size_in_bytes,
)
from rillway.command_line.parser import Parser, did_you_mean
from rillway.pipeline.archive.limits import (
    BATCH_BYTES,
    BATCH_ENTRIES,
    PERIODS,
    TARGET_BYTES,
    VACUUM_AFTER_HOURS,
)
from rillway.pipeline.wire.ids import UNITS, parse_id

DEFAULT_KEEP = "10m"
DEFAULT_ICEBERG_TABLE = "rillway.archive"


def parse_options(arguments: list[str]) -> tuple[str, argparse.Namespace]:
    """Return the job (archive, or one of JOBS) and its arguments.

    Exits with status 2 if they are wrong.
    """
    job, *rest = arguments or [""]
    if job in JOBS:
        return job, _job_options(JOBS[job](), rest)
    parser = make_parser()
    if job and not job.startswith("-"):
        parser.error(f"there is no job '{job}'.{did_you_mean(job, JOBS)}")
    options = parser.parse_args(arguments)
    options.stream = list(dict.fromkeys(options.stream))
    if not options.stream and options.pattern is None:
        parser.error("one of the arguments --stream --pattern is required")
    if options.to is None and options.infer is None:
        parser.error("the following arguments are required: --to")
    if options.schema and options.schema_file is not None:
        parser.error("--schema and --schema-file do not go together")
    if options.case_sensitive and not (options.schema or options.schema_file is not None):
        parser.error("--case-sensitive goes with --schema or --schema-file")
    if options.infer is not None and options.schema:
        parser.error("--infer proposes a schema, and goes with --schema-file, which it writes")
    return "archive", options


def _job_options(parser: Parser, arguments: list[str]) -> argparse.Namespace:
    options = parser.parse_args(arguments)
    if vars(options).get("columns") and (options.stream or options.skip_archived):
        parser.error("--stream and --skip-archived go with --from")
    is_range = vars(options).get("from_id") is not None
    if is_range != (vars(options).get("to_id") is not None):
        parser.error("--from-id and --to-id go together")
    return options


def make_parser() -> Parser:
    parser = Parser(
        "archive",
        usage="rillway archive --stream S ...|--pattern GLOB --to PATH [OPTION ...]\n"
        f"       rillway archive {'|'.join(JOBS)} --to PATH [OPTION ...]",
        description="Move entries from streams to a Delta table, exactly once, and trim the "
        "streams: never past an entry that a group has not read or not acknowledged.",
    )
    parser.add_argument(
        "--stream",
        action="append",
        type=stream_name,
        default=[],
        help="the key of a stream; may be repeated",
    )
    parser.add_argument(
        "--pattern",
        metavar="GLOB",
        help="all streams whose names match, including new ones in each round; combines with "
        "--stream",
    )
    _add_place(parser, is_required=False)
    add_url(parser)
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--once", action="store_true", help="one round (default)")
    when.add_argument(
        "--every", type=interval, metavar="TIME", help="a round every 5m, until a signal arrives"
    )
    parser.add_argument(
        "--keep",
        type=duration,
        default=DEFAULT_KEEP,
        metavar="TIME",
        help="keep this much recent history in the stream even when archived "
        "(default: %(default)s)",
    )
    parser.add_argument("--no-trim", action="store_true", help="archive without trimming")
    parser.add_argument(
        "--ignore-group",
        action="append",
        default=[],
        metavar="G",
        help="trim entries that this group has not read or acknowledged; may be repeated",
    )
    parser.add_argument(
        "--group-max-idle",
        type=duration,
        metavar="TIME",
        help="ignore each group whose consumers have all been inactive for this long",
    )
    parser.add_argument(
        "--accept-loss",
        action="store_true",
        help="continue although others trimmed entries before they were archived",
    )
    parser.add_argument(
        "--new-epoch",
        action="store_true",
        help="if a stream is refused because it is not the one that was archived, archive it as a "
        "separate history",
    )
    parser.add_argument(
        "--new-archive",
        action="store_true",
        help="create an archive although the streams show that there was one at --to",
    )
    add_allow_missing(parser)
    parser.add_argument(
        "--batch",
        type=from_one,
        default=BATCH_ENTRIES,
        metavar="N",
        help="the number of entries in one commit (default: %(default)s)",
    )
    parser.add_argument(
        "--batch-bytes",
        type=size_in_bytes,
        default=BATCH_BYTES,
        metavar="SIZE",
        help="their size as the server sends them (default: 1gb)",
    )
    _add_partition_by(parser)
    parser.add_argument(
        "--id-unit",
        choices=UNITS,
        help="the unit of the IDs of new streams: Unix milliseconds, microseconds or nanoseconds, "
        "or none if IDs are not times, such as snowflakes; stored in the archive (default: "
        "inferred from the first IDs)",
    )
    parser.add_argument(
        "--lease",
        type=duration,
        default="30s",
        metavar="TIME",
        help="how long a killed archiver excludes others (default: %(default)s)",
    )
    parser.add_argument(
        "--engine",
        choices=("spark", "local"),
        default="local",
        help="write files in this process, or in Spark tasks, which pays for many streams on a "
        "cluster (default: %(default)s)",
    )
    _add_iceberg(parser, is_required=False)
    parser.add_argument(
        "--no-compact",
        action="store_true",
        help="do not merge small files after a round, which takes up to a quarter of its time",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object for each round")
    parser.add_argument(
        "--metrics-file",
        type=Path,
        metavar="FILE.prom",
        help="write metrics of the rounds to a file, for the textfile collector of Prometheus's "
        "node_exporter",
    )
    _add_columns(parser)
    return parser


def _add_columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--schema",
        action="append",
        default=[],
        metavar="PATTERN=COLUMNS",
        help="typed columns of the streams that match: 'orders:*=customer STRING, amount "
        "DECIMAL(10,2)'; stored in the archive; may be repeated",
    )
    parser.add_argument(
        "--schema-file", type=Path, metavar="FILE", help="the schema, with more options, as YAML"
    )
    parser.add_argument(
        "--case-sensitive",
        action="store_true",
        help="match field names to columns case-sensitively",
    )
    parser.add_argument(
        "--infer",
        type=from_one,
        metavar="N",
        help="archive nothing: propose a schema from the newest N entries of each stream, and "
        "write it to --schema-file",
    )


def compact_parser() -> Parser:
    parser = Parser(
        "archive compact",
        "Merge the small files of each day (or month or year, if the archive is partitioned by "
        "that). An archiver may run meanwhile.",
    )
    _add_place(parser)
    _add_target_size(parser)
    _add_vacuum(parser)
    _add_partition_by(parser)
    _add_needless_url(parser)
    return parser


def backfill_parser() -> Parser:
    parser = Parser(
        "archive backfill",
        "Give older rows the present columns of the archive, or add entries of a backup that "
        "precede the archive. An archiver may run meanwhile.",
    )
    _add_table(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--columns", action="store_true", help="the typed columns of --schema")
    which.add_argument(
        "--from",
        dest="origin",
        metavar="FILE.rdb|PATH",
        help="a snapshot of Redis or Rillway, or another archive: its entries that precede the "
        "first archived one of each stream",
    )
    parser.add_argument(
        "--skip-archived",
        action="store_true",
        help="with --from: skip the first archived entry, if the backup has it, and later ones",
    )
    _add_needless_url(parser)
    return parser


def expire_parser() -> Parser:
    parser = Parser(
        "archive expire",
        "Remove old rows from the archive: whole days in UTC, by their IDs, or the months or years "
        "that the archive is partitioned by.",
    )
    _add_table(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--older-than",
        type=duration,
        metavar="TIME",
        help="days that ended at least this long ago, such as 90d",
    )
    which.add_argument("--before", type=_date, metavar="DATE", help="days before 2026-01-31")
    _add_vacuum(parser)
    _add_needless_url(parser)
    return parser


def status_parser() -> Parser:
    parser = Parser(
        "archive status",
        "Show what is archived, the lag, groups that hold up trims, and refused streams.",
    )
    _add_table(parser)
    add_url(parser)
    parser.add_argument("--json", action="store_true", help="a JSON object for each stream")
    return parser


def epochs_parser() -> Parser:
    parser = Parser(
        "archive epochs",
        "List the histories of each stream: where and why they diverged.",
    )
    _add_table(parser)
    parser.add_argument("--json", action="store_true", help="a JSON object for each epoch")
    _add_needless_url(parser)
    return parser


def iceberg_parser() -> Parser:
    parser = Parser(
        "archive iceberg",
        "Update the mirror of an archive in an Iceberg catalogue, or create it. Archivers may run "
        "meanwhile.",
    )
    _add_place(parser)
    _add_iceberg(parser, is_required=True)
    parser.add_argument(
        "--rebuild",
        action="store_true",
        help="drop the mirror first, and create it again from all files",
    )
    _add_needless_url(parser)
    return parser


def forget_parser() -> Parser:
    parser = Parser(
        "archive forget",
        "Remove an archive's groups from the streams of a server, so that they no longer hold up "
        "trims: for an archive that was lost or is no longer used.",
    )
    _add_table(parser)
    add_url(parser)
    return parser


def verify_parser() -> Parser:
    parser = Parser(
        "archive verify",
        "Check the archive: its log, its records of the streams, and the size and footer of each "
        "file. Prints a line for each finding; exits with 1 if there is one.",
    )
    _add_place(parser)
    parser.add_argument(
        "--deep",
        action="store_true",
        help="also read all rows: each entry must be there once, in order, the last ones unchanged",
    )
    parser.add_argument(
        "--url",
        type=server_url,
        help="also compare the archived entries that are in memory at this server",
    )
    parser.add_argument(
        "--json", action="store_true", help="a JSON object for each finding, and one of totals"
    )
    return parser


def erase_parser() -> Parser:
    parser = Parser(
        "archive erase",
        "Erase entries for ever: from memory, the archive, its log, its states and its mirror. "
        "Afterwards no file of the archive has their bytes. Waits for a running archiver. It may "
        "be interrupted at any time: run again, it finishes.",
    )
    _add_table(parser)
    add_url(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--where",
        metavar="SQL",
        help="entries for which a condition holds, such as \"fields['customer'] = 'c7'\"; as "
        "`rillway query --where` takes it without Spark",
    )
    which.add_argument(
        "--ids", type=Path, metavar="FILE", help="entries with these IDs, one in a line"
    )
    which.add_argument(
        "--from-id", type=entry_id, metavar="ID", help="entries from this ID; goes with --to-id"
    )
    parser.add_argument(
        "--to-id", type=entry_id, metavar="ID", help="entries up to this ID, included"
    )
    parser.add_argument(
        "--refs",
        choices=("keepref", "delref", "acked"),
        help="what happens to references of consumer groups, as in XDELEX: they stay, or go too, "
        "or only entries that all groups have acknowledged are erased (default: XDEL, as keepref)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only count: archive and memory, each entry once"
    )
    parser.add_argument("--json", action="store_true", help="print the certificate, as JSON")
    parser.add_argument(
        "--certificate",
        type=Path,
        metavar="FILE",
        help="write what was erased, when, how many entries, from which files, with their hashes "
        "before and after, and nothing of the content",
    )
    _add_iceberg(parser, is_required=False)
    return parser


def repair_parser() -> Parser:
    parser = Parser(
        "archive repair",
        "Repair what `archive verify` finds: a damaged log or checkpoint, a lost state. Damaged "
        "files are moved to _rillway/damaged, never deleted. An archiver may run meanwhile.",
    )
    _add_place(parser)
    parser.add_argument(
        "--drop-files",
        action="store_true",
        help="remove missing or damaged files from the table, and record what is missing",
    )
    parser.add_argument(
        "--deep",
        action="store_true",
        help="read all rows, to find damage that the footers do not show",
    )
    parser.add_argument(
        "--go-back",
        action="store_true",
        help="if a damaged version of the log cannot be rebuilt, give it up with all later ones",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--url",
        type=server_url,
        help="remove such files, and fill in their rows from the memory of this server",
    )
    source.add_argument(
        "--from",
        dest="origin",
        metavar="PATH",
        help="the same from an RDB file, or from a copy of the archive",
    )
    return parser


def upkeep_parser() -> Parser:
    parser = Parser(
        "archive upkeep",
        "Run the regular upkeep: check each file, merge small ones, remove expired rows, delete "
        "unused files, tidy up the log. An archiver may run meanwhile.",
    )
    _add_place(parser)
    parser.add_argument(
        "--expire-after",
        type=duration,
        metavar="TIME",
        help="how long rows are kept, such as 90d, or 0s for ever; stored in the archive",
    )
    _add_target_size(parser)
    _add_vacuum(parser)
    _add_needless_url(parser)
    return parser


# The jobs besides archiving itself.
JOBS = {
    "backfill": backfill_parser,
    "compact": compact_parser,
    "epochs": epochs_parser,
    "erase": erase_parser,
    "expire": expire_parser,
    "forget": forget_parser,
    "iceberg": iceberg_parser,
    "repair": repair_parser,
    "status": status_parser,
    "upkeep": upkeep_parser,
    "verify": verify_parser,
}


def _add_place(parser: argparse.ArgumentParser, *, is_required: bool = True) -> None:
    parser.add_argument(
        "--to",
        required=is_required,
        metavar="PATH",
        help="the folder of the archive, or s3://bucket/path, gs://, abfss://",
    )
    add_storage_options(parser)


def _add_table(parser: argparse.ArgumentParser) -> None:
    _add_place(parser)
    parser.add_argument(
        "--stream",
        action="append",
        type=stream_name,
        help="only this stream; may be repeated (default: all)",
    )


def _add_iceberg(parser: argparse.ArgumentParser, *, is_required: bool) -> None:
    parser.add_argument(
        "--iceberg",
        required=is_required,
        type=catalogue_uri,
        metavar="URI",
        help="an Iceberg catalogue with a mirror of the archive, such as "
        "sqlite:////data/catalogue.db",
    )
    parser.add_argument(
        "--iceberg-table",
        type=table_name,
        default=DEFAULT_ICEBERG_TABLE,
        metavar="NAME",
        help="the mirror's name there (default: %(default)s)",
    )


def _add_partition_by(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--partition-by",
        choices=PERIODS,
        help="the period of a file: one day, month or year in UTC, or all time; stored in the "
        "archive (default: unchanged; for a new archive, a day)",
    )


def _add_target_size(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target-size",
        type=size_in_bytes,
        default=TARGET_BYTES,
        metavar="SIZE",
        help="the maximum size of a merged file (default: 256mb)",
    )


def _add_needless_url(parser: argparse.ArgumentParser) -> None:
    """Accept --url, so that it may be passed to all jobs alike."""
    parser.add_argument("--url", type=server_url, help="ignored: this job does not use the server")


def _add_vacuum(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--vacuum-after",
        type=duration,
        default=float(VACUUM_AFTER_HOURS * 3600),
        metavar="TIME",
        help="delete files that were replaced at least this long ago, when no reader can have them "
        "open (default: 7d)",
    )


def stream_name(text: str) -> str:
    """Return a stream's key, which must be UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not UTF-8, so cannot be archived") from None
    return text


def entry_id(text: str) -> int:
    """Return the ID of an entry."""
    try:
        return parse_id(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def catalogue_uri(text: str) -> str:
    """Return the URI of a catalogue; pyiceberg decides its kind."""
    if "://" not in text:
        raise argparse.ArgumentTypeError(
            f"expected a URI such as sqlite:////data/catalogue.db, not {text!r}"
        )
    return text


def table_name(text: str) -> str:
    """Return the name of a table with its namespace."""
    if len(text.split(".")) < 2 or not all(text.split(".")):
        raise argparse.ArgumentTypeError(f"expected a name such as sales.orders, not {text!r}")
    return text


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected a date such as 2026-01-31, not {text!r}"
        ) from None
