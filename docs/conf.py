"""How the documentation is built: ``python -m sphinx -W docs docs/_build``."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import tables

project = "dcarray"
copyright = "2026, the dcarray maintainers"
author = "the dcarray maintainers"
try:
    release = version("dcarray")
except PackageNotFoundError:
    release = "0.1.0"
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
]
exclude_patterns = ["_build", "generated/tables"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
default_role = "autolink"

add_module_names = False
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "dcarray"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
}
html_sidebars = {"**": []}


def setup(app: Sphinx) -> None:
    """Write the tables that come from the code, before anything is read."""
    app.connect("builder-inited", lambda _: tables.write(HERE / "generated" / "tables"))
