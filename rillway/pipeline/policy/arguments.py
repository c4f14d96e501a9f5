"""The arguments of `rillway policy`."""

from __future__ import annotations

import argparse
from functools import partial

from rillway.command_line.arguments import add_url
from rillway.command_line.parser import Parser
from rillway.pipeline.policy.settings import (
    GROUP_SETTINGS,
    STREAM_SETTINGS,
    Setting,
    Value,
    read,
)


def make_parser() -> Parser:
    parser = Parser(
        "policy",
        "Show and set what the server does by itself: what a stream keeps, and when a group gets "
        "an entry again. What is not named stays as it is; off switches an option off.",
    )
    parser.add_argument("--stream", required=True, help="the key of the stream")
    parser.add_argument("--group", help="a group of the stream")
    for settings in (STREAM_SETTINGS, GROUP_SETTINGS):
        for setting in settings:
            parser.add_argument(
                setting.flag,
                dest=setting.name,
                type=partial(_value, setting),
                metavar=setting.metavar,
                help=setting.help,
            )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what it would mean, and change nothing"
    )
    parser.add_argument("--json", action="store_true", help="an object in place of sentences")
    add_url(parser)
    return parser


def _value(setting: Setting, text: str) -> Value:
    try:
        return read(setting, text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Parse arguments; `new_stream`, `new_group`: the named options. Exits with 2 if wrong."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    options.new_stream = _named(options, STREAM_SETTINGS)
    options.new_group = _named(options, GROUP_SETTINGS)
    if options.new_group and options.group is None:
        flags = ", ".join(each.flag for each in GROUP_SETTINGS if each.name in options.new_group)
        parser.error(f"--group is needed for {flags}")
    return options


def _named(options: argparse.Namespace, settings: tuple[Setting, ...]) -> dict[str, Value]:
    return {
        setting.name: value
        for setting in settings
        if (value := getattr(options, setting.name)) is not None
    }
