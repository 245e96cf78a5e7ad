"""All pages of the reference by their place on the site; those of the navigation first, in its order."""

from pathlib import PurePosixPath

from doc_site.navigation import OUTSIDE
from doc_site.reference import admission, commands, configuration, fields, reasons


def reference_pages() -> dict[PurePosixPath, str]:
    """The pages, made anew from the source."""
    pages = {
        "commands.md": commands.index(),
        "fields.md": fields.index(),
        "configuration.md": configuration.page(),
        "reasons.md": reasons.page(),
        "admission.md": admission.page(),
        **{f"commands/{name}.md": OUTSIDE + text for name, text in commands.pages().items()},
        **{f"fields/{name}.md": OUTSIDE + text for name, text in fields.pages().items()},
    }
    return {PurePosixPath("reference") / name: text for name, text in pages.items()}
