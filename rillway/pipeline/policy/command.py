"""`rillway policy`: shows and sets the policies of a stream and of a group.

Standard output has a sentence for the stream and one for the group, or with --json an object;
standard error has a line `warning:` for each combination of options that does not work well. Exits
with 0; 1 if the server refused, cannot be reached or has no policies; 2 for a bad argument.
"""

from __future__ import annotations

import argparse
import json
import sys

from rillway.pipeline.policy.arguments import parse_options
from rillway.pipeline.policy.change import (
    NoPolicies,
    Policies,
    change_policies,
    read_policies,
)
from rillway.pipeline.policy.sentences import group_meaning, stream_meaning, warnings
from rillway.pipeline.policy.settings import Value
from rillway.pipeline.wire.cluster import connect, following
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from rillway.pipeline.wire.pending import group_names
from rillway.pipeline.wire.places import archive_of


def main(arguments: list[str]) -> int:
    """Show or set policies. Returns the exit status."""
    options = parse_options(arguments)
    try:
        with connect(options.url) as servers:
            following(servers, options.stream, lambda connection: run(connection, options))
    except (ConnectionLost, NoPolicies, ServerError) as error:
        print(f"rillway policy: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def run(connection: Connection, options: argparse.Namespace) -> None:
    """Change the named options, then show all. Raises ServerError, NoPolicies, ConnectionLost."""
    stream, group = options.stream, options.group
    found = read_policies(connection, stream, group)
    if options.new_stream or options.new_group:
        if options.dry_run:
            found = found.changed(options.new_stream, options.new_group)
        else:
            change_policies(connection, stream, group, found, options.new_stream, options.new_group)
            found = read_policies(connection, stream, group)
    archives = [name for name in group_names(connection, stream) if archive_of(name)]
    show(found, options, warnings(found, archives))


def show(policies: Policies, options: argparse.Namespace, warned: list[str]) -> None:
    sentences = [stream_meaning(options.stream, policies.stream)]
    if options.group is not None:
        sentences.append(group_meaning(options.stream, options.group, policies.group))
    if options.json:
        print(json.dumps(as_object(policies, options, sentences, warned)))
    else:
        lead = "would mean: " if options.dry_run else ""
        for sentence in sentences:
            print(f"{lead}{sentence}")
    for text in warned:
        print(f"warning: {text}", file=sys.stderr)


def as_object(
    policies: Policies, options: argparse.Namespace, sentences: list[str], warned: list[str]
) -> dict[str, object]:
    """Return what --json prints: times in ms, sizes in bytes, without options that are off."""
    shown: dict[str, object] = {"stream": options.stream, "group": options.group}
    shown["stream_policy"] = _plain(policies.stream)
    shown["stream_counters"] = _plain(policies.stream_counters)
    if options.group is not None:
        shown["group_policy"] = _plain(policies.group)
        shown["group_counters"] = _plain(policies.group_counters)
    return {**shown, "dry_run": options.dry_run, "meaning": sentences, "warnings": warned}


def _plain(values: dict[str, Value] | dict[str, object]) -> dict[str, object]:
    return {
        name.replace("-", "_"): value.decode(errors="backslashreplace")
        if isinstance(value, bytes)
        else value
        for name, value in values.items()
    }
