"""Plots are files, and a missing library is said in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rillway.pipeline.cli.plots import PlotUnavailable, drawn_figure, make_figure

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_figure_has_its_panels_and_is_written_as_png(tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    with drawn_figure(path, "title", columns=2, rows=2) as panels:
        assert len(panels) == 4
        panels[0].plot([1, 2], [3, 4])
    assert path.read_bytes().startswith(PNG)


def test_a_failure_while_drawing_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "plot.png"
    with pytest.raises(ZeroDivisionError), drawn_figure(path, "title", columns=1):
        raise ZeroDivisionError
    assert not path.exists()


def test_without_matplotlib_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(PlotUnavailable, match=r"pip install 'rillway\[plot\]'"):
        make_figure()
