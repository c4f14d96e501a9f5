"""Configuration of Sphinx, which makes a site of these pages: `make docs`.

They are Markdown, readable as it is.
"""

from __future__ import annotations

from pygments.lexer import RegexLexer, bygroups  # type: ignore[import-untyped]
from pygments.token import Generic, Text  # type: ignore[import-untyped]
from sphinx.application import Sphinx

from rillway import __version__

project = "Rillway"
author = "Rillway contributors"
project_copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.graphviz"]
exclude_patterns = ["_build"]
root_doc = "index"

# -- Markdown -------------------------------------------------------------------------------------

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4  # links to headings, as GitHub makes them
# `{graphviz}` in a page has no quotes and colours of its own; what differs by theme is in site.css.
graphviz_output_format = "svg"
graphviz_dot_args = [
    "-Gbgcolor=transparent",
    "-Gfontname=Helvetica",
    "-Nfontname=Helvetica",
    "-Nfontsize=12",
    "-Nshape=box",
    "-Nstyle=rounded",
    "-Nmargin=0.2,0.1",
    "-Efontname=Helvetica",
    "-Efontsize=10",
    "-Earrowsize=0.7",
]

# -- the API --------------------------------------------------------------------------------------

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autoclass_content = "both"
python_use_unqualified_type_names = True

# -- HTML -----------------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"Rillway {release}"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
# Code in docstrings stands between single backticks, as in Markdown.
default_role = "code"
highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "monokai"


class ConsoleLexer(RegexLexer):  # type: ignore[misc]
    """Commands of the shell after `$` and of redis-cli after `>`, and what they print."""

    name = "console"
    tokens = {
        "root": [
            (r"^([$>] )((?:.*\\\n)*.*\n)", bygroups(Generic.Prompt, Text)),
            (r".*\n", Generic.Output),
        ]
    }


def setup(app: Sphinx) -> None:
    app.add_lexer("console", ConsoleLexer)
