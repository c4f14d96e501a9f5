"""Completion as scripts of bash, zsh and fish.

Where an option takes any value, the shell completes files, as it does by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from shlex import quote
from typing import NamedTuple


class Option(NamedTuple):
    """An option. `values`: the values that it takes; empty for any value, None for none."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] | None


class Command(NamedTuple):
    """A sub-command, or a job of one (`archive compact`)."""

    name: str
    summary: str
    options: tuple[Option, ...] = ()
    words: tuple[str, ...] = ()  # words that may follow: jobs, or the name of a shell
    takes_files: bool = False


# -- bash ----------------------------------------------------------------------------------------

BASH = """\
# Completion of rillway in bash: source <(rillway completion bash)
_rillway() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local command=${{COMP_WORDS[1]}} choices
    COMPREPLY=()
    # bash splits --option=value at the equals sign.
    [[ $before == = ]] && before=${{COMP_WORDS[COMP_CWORD-2]}}
    [[ $word == = ]] && word=
    if ((COMP_CWORD == 1)); then
        choices={names}
    else
        if ((COMP_CWORD > 2)); then
            case "$command ${{COMP_WORDS[2]}}" in
                {jobs}) command+=" ${{COMP_WORDS[2]}}" ;;
            esac
        fi
        case "$command $before" in
{values}
            *)
                case $command in
{options}
                esac ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
}}
complete -o bashdefault -o default -F _rillway rillway"""


def bash(commands: Sequence[Command]) -> str:
    """The script for bash 3.2 and later; it needs no package bash-completion."""
    values, options = [], []
    for command in commands:
        free = []
        for option in command.options:
            patterns = [quote(f"{command.name} {name}") for name in option.names]
            if option.values:
                values.append(
                    f"            {'|'.join(patterns)}) choices={_words(option.values)} ;;"
                )
            elif option.values is not None:
                free += patterns
        if free:
            values.append(f"            {'|'.join(free)}) return ;;")
        names = _words([*command.words, *_names(command)])
        files = "[[ $word == -* ]] || return; " if command.takes_files else ""
        options.append(f"                    {quote(command.name)}) {files}choices={names} ;;")
    return BASH.format(
        names=_words(command.name for command in commands if not _is_job(command)),
        jobs="|".join(quote(command.name) for command in commands if _is_job(command)),
        values="\n".join(values),
        options="\n".join(options),
    )


# -- zsh -----------------------------------------------------------------------------------------

ZSH = """\
#compdef rillway
# Completion of rillway in zsh, after compinit: source <(rillway completion zsh)
_rillway() {{
    local -a names=({names})
    if (( CURRENT == 2 )); then
        _describe sub-command names
        return
    fi
    local command=$words[2]
    shift words; (( CURRENT-- ))
    if (( CURRENT > 2 )); then
        case "$command $words[2]" in
            {jobs}) command+=" $words[2]"; shift words; (( CURRENT-- )) ;;
        esac
    fi
    case $command in
{options}
    esac
}}
if [[ $funcstack[1] == _rillway ]]; then _rillway "$@"; else compdef _rillway rillway; fi"""


def zsh(commands: Sequence[Command]) -> str:
    """The script for zsh; it may also be a file `_rillway` in a folder of $fpath."""
    options = []
    for command in commands:
        specs = [_zsh_option(name, option) for option in command.options for name in option.names]
        if command.words:
            specs.append(f"1:word:({' '.join(command.words)})")
        if command.takes_files:
            specs.append("*:file:_files")
        words = " \\\n            ".join(map(quote, specs))
        options.append(f"        {quote(command.name)}) _arguments \\\n            {words} ;;")
    return ZSH.format(
        names=" ".join(
            quote(f"{command.name}:{command.summary}")
            for command in commands
            if not _is_job(command)
        ),
        jobs="|".join(quote(command.name) for command in commands if _is_job(command)),
        options="\n".join(options),
    )


def _zsh_option(name: str, option: Option) -> str:
    shown = option.help
    for special in "\\[]:":
        shown = shown.replace(special, f"\\{special}")
    if option.values is None:
        return f"*{name}[{shown}]"
    equals = "=" if name.startswith("--") else ""
    values = f"({' '.join(option.values)})" if option.values else "_default"
    return f"*{name}{equals}[{shown}]:value:{values}"


# -- fish ----------------------------------------------------------------------------------------

FISH = """\
# Completion of rillway in fish: rillway completion fish | source
function __rillway_is
    set -l words (commandline -opc)
    set -l command "$words[2]"
    contains -- "$words[2] $words[3]" {jobs}; and set command "$words[2] $words[3]"
    test "$command" = "$argv"
end
complete -c rillway -f
{lines}"""


def fish(commands: Sequence[Command]) -> str:
    """The script for fish 3 and later."""
    lines = []
    for command in commands:
        here = f"complete -c rillway -n {quote(f'__rillway_is {command.name}')}"
        if not _is_job(command):
            summary = quote(command.summary)
            lines.append(f"complete -c rillway -n '__rillway_is' -a {command.name} -d {summary}")
        if command.words:
            is_first = "test (count (commandline -opc)) -eq 2"
            words = quote(" ".join(command.words))
            lines.append(f"{here} -n {quote(is_first)} -a {words}")
        if command.takes_files:
            lines.append(f"{here} -F")
        lines += [f"{here} {_fish_option(option)}" for option in command.options]
    jobs = " ".join(quote(command.name) for command in commands if _is_job(command))
    return FISH.format(jobs=jobs, lines="\n".join(lines))


def _fish_option(option: Option) -> str:
    words = [
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    ]
    if option.values:
        words.append(f"-x -a {quote(' '.join(option.values))}")
    elif option.values is not None:
        words.append("-r -F")
    if option.help:
        # In fish's quotes a backslash is one before a quote or another backslash only.
        escaped = option.help.replace("\\", "\\\\").replace("'", "\\'")
        words.append(f"-d '{escaped}'")
    return " ".join(words)


# -- all -----------------------------------------------------------------------------------------


def _is_job(command: Command) -> bool:
    return " " in command.name


def _names(command: Command) -> list[str]:
    return [name for option in command.options for name in option.names]


def _words(words: Iterable[str]) -> str:
    return quote(" ".join(words))


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
