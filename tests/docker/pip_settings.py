"""How pip reaches packages on this machine, for a pip that runs in the image's build.

`pip config list` names the settings of all files and PIP_* variables: mirrors, certificates,
folders of wheels. They become one pip.conf, and the paths in them mounts.
"""

from __future__ import annotations

import ast
from configparser import RawConfigParser
from pathlib import Path

VARIABLE = ":env:"  # how pip lists a setting that comes from a PIP_* variable


def parse_settings(listing: str) -> RawConfigParser:
    """A pip.conf from what `pip config list` printed."""
    settings: dict[tuple[str, str], str] = {}
    # Variables win over files, so they come last.
    for line in sorted(listing.splitlines(), key=lambda line: line.startswith(VARIABLE)):
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        section = "global" if section == VARIABLE else section
        settings[section, name] = str(ast.literal_eval(value))
    config = RawConfigParser()
    for (section, name), value in settings.items():
        if not config.has_section(section):
            config.add_section(section)
        config.set(section, name, value)
    return config


def local_paths(config: RawConfigParser) -> list[Path]:
    """What the settings name on this machine, as far as it exists.

    For an index that is a folder, the folder around it: its pages link to files beside it.
    """
    found: set[Path] = set()
    for section in config.sections():
        for name, value in config.items(section):
            for word in value.split():
                path = Path(word.removeprefix("file://"))
                if path.is_absolute() and path.exists():
                    found.add(path.parent if name.endswith("index-url") else path)
    return sorted(found - {Path("/")})
