"""The site: sphinx-build -W -c docs . build/site, in an environment with the extra
[docs]. Pages: docs/toc.yml.
"""

import tomllib
from pathlib import Path

project_table = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))[
    "project"
]

project = "VoCap"
release = project_table["version"]
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_external_toc",
    "sphinx_reredirects",
]

# The pages are the repository's own Markdown files, where they are, so that links work
# on a code host as well.
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "config/README.md",
    "docs/*.md",
    "dev/measurements.md",
]
exclude_patterns = [".*", "build", "data", "logs", "results", "src", "tests", "**/__pycache__"]
external_toc_path = "docs/toc.yml"
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"
default_role = "code"  # `name` in docstrings
napoleon_google_docstring = False

html_theme = "furo"
html_title = "VoCap"
html_extra_path = ["index.html"]  # leads to README.html

# pages that were merged into others, beside which these stand
redirects = {
    "docs/byte-pairs": "tokenizers.html",
    "docs/evaluation": "concepts.html",
    "docs/fineweb": "corpora.html",
    "docs/notebook": "tutorial.html",
    "docs/other-homes": "clients.html",
    "docs/size": "commands.html",
    "docs/text": "tokenizers.html",
    "docs/trim-embedding-models": "adapting.html",
}
