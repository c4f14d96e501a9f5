"""`rillway completion`."""

from __future__ import annotations

import pytest

from commands.config.configuration import HIDDEN
from rillway.__main__ import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_has_the_directives_of_the_server(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "stream-node-max-entries" in script and "maxclients" in script
    assert not any(name in script for name in HIDDEN)


def test_another_shell_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion", "tcsh"])
    assert ended.value.code == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
