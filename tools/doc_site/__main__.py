"""Builds the site: PYTHONPATH=tools python -m doc_site [FOLDER], in the project's root; `make docs` does it.

Theory of operation. The pages in `docs` are Markdown as GitHub shows it, without directives of any
generator. `staging` copies them into a folder, rewrites their links to where the pages are on the
site, and adds what is generated: the reference (`reference`), the index of decision records, a page
for each file of the repository that a page links to, and the pictures (`pictures`). The navigation
is the lists of links in `docs/README.md` (`navigation`). Sphinx builds that folder with warnings as
errors, so that a link to nowhere or a page outside the navigation ends the build; `built_pages`
then reads the HTML and refuses what Sphinx does not look for.
"""

import shutil
import sys
from pathlib import Path
from typing import Final

from sphinx.cmd.build import build_main

from doc_site.built_pages import problems
from doc_site.paths import ROOT
from doc_site.pictures import EXTRA
from doc_site.staging import stage

OUTPUT: Final = ROOT / "build" / "site"
CONFIGURATION: Final = Path(__file__).parent


def main(arguments: list[str]) -> int:
    """Build the site into a folder, anew; leave with 1 where anything is wrong with it."""
    output = Path(arguments[0]).resolve() if arguments else OUTPUT
    source = output.with_name(f"{output.name}-source")
    for folder in (source, output):
        shutil.rmtree(folder, ignore_errors=True)
    stage(source)
    strict = ["-q", "-W", "--keep-going", "-n"]
    settings = ["-c", str(CONFIGURATION), "-D", f"html_extra_path={source / EXTRA}"]
    if build_main([*strict, *settings, str(source), str(output)]):
        return 1
    shutil.rmtree(output / ".doctrees", ignore_errors=True)
    found = problems(output)
    for problem in found:
        print(problem)
    if not found:
        print(f"docs: {output / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
