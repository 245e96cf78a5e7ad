"""Sphinx's settings for the site."""

from maar import __version__

project = "Maar"
version = release = __version__
copyright = "the Maar contributors"  # noqa: A001  # Sphinx's name for it
extensions = ["myst_parser"]
root_doc = "index"
language = "en"
nitpicky = True
exclude_patterns = ["extra"]

myst_heading_anchors = 6

html_theme = "furo"
html_title = "Maar"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
pygments_style = "default"
pygments_dark_style = "github-dark"
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
