"""How Sphinx builds the site: Markdown by MyST, the furo theme, and nothing that asks another host."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
from fairground import __version__

project = "fairground"
author = "The fairground authors"
release = __version__
extensions = ["myst_parser", "fairground_site"]
exclude_patterns = ["_ext", "_static"]
source_suffix = {".md": "markdown"}
nitpicky = True

# Headings are addressed as on a code host, so that links such as fairness.md#how-to-read-a-verdict work in both places.
myst_heading_anchors = 4
myst_enable_extensions: list[str] = []

# Two hyphens are two hyphens: they stand before options.
smartquotes = False
# A block that does not say what it is in is text.
highlight_language = "text"

html_theme = "furo"
html_title = f"fairground {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
# The theme's own colours for code fall below what is readable on some tokens; these two are tested for contrast.
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
