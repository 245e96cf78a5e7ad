"""The page of a report: one file of HTML that needs no network, no script and no font."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from maar.core.answers.simulate.plots import capacity_text, figures
from maar.core.answers.simulate.tables import Table, overview, queues, waits_by_queue, waits_by_size
from maar.core.simulation.experiment import Outcome

# Eight colours that people with any kind of colour vision can tell apart (Okabe and Ito), lighter on dark.
_LIGHT: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f5fa8", "#8a8a8a")
_DARK: Final = ("#56a8e0", "#f0803c", "#2fc29a", "#e3a3c6", "#f2b93b", "#8fd0f5", "#b79ae0", "#a6a6a6")
_STYLE: Final = """
:root{color-scheme:light dark;--back:#fff;--ink:#1c1c1c;--soft:#5d5d5d;--rule:#dcdcdc;--warn:#fff4d6}
@media(prefers-color-scheme:dark){:root{--back:#16181b;--ink:#ececec;--soft:#a8a8a8;--rule:#3a3d42;--warn:#3d3418}}
body{margin:0 auto;padding:1rem;max-width:60rem;background:var(--back);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.15rem;margin:2.2rem 0 .3rem}
p,figcaption{margin:.3rem 0;color:var(--soft)}figure{margin:0}
ul.notes{background:var(--warn);padding:.6rem 1rem .6rem 2rem;border-radius:.4rem}
.wide{overflow-x:auto}
svg{display:block;width:100%;min-width:34rem;height:auto;font:12px system-ui,sans-serif}
svg text{fill:var(--ink)}.end{text-anchor:end}.mid{text-anchor:middle}
.grid{stroke:var(--rule);fill:none}.axis{stroke:var(--soft);fill:none}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}.area{stroke:var(--back);stroke-width:.5}
.box rect{fill-opacity:.35;stroke-width:1.2}.box path{fill:none;stroke-width:2}.box .tip{stroke-width:1.2}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;min-width:30rem}
th,td{text-align:right;padding:.2rem .7rem;border-bottom:1px solid var(--rule);white-space:nowrap}
pre{overflow-x:auto;font-size:.85rem}code{overflow-wrap:anywhere}
th:first-child,td:first-child{text-align:left}td.text{text-align:left}
dt{font-weight:600;margin-top:.5rem}dd{margin:0;color:var(--soft)}
"""
_DEFINITIONS: Final = (
    (
        "Utilisation",
        "used ÷ allocatable, with work that was lost later. While some pod waited: with enough work.",
    ),
    ("Wait", "from submission to the first start. Jobs that never started have none."),
    (
        "Total delay",
        "from submission to the end, less the run time: the wait, and what evictions cost after it.",
    ),
    ("Bounded slowdown", "max(1, r ÷ max(run time, 10 s)), where r is from submission to the end."),
    (
        "Share error",
        "the mean over time of |used - deserved|, as a part of the cluster; over all queues half the sum.",
    ),
    (
        "Work lost",
        "what evicted pods had run for, times what they ask for; they start again from the beginning.",
    ),
    (
        "Jain's index",
        "(Σx)² ÷ (n Σx²) of x = used ÷ weight over queues with jobs, while some pod waited.",
    ),
)


class Heading(NamedTuple):
    """What the page says before the figures."""

    title: str
    facts: Sequence[str]  # a paragraph each
    notes: Sequence[str]  # what was skipped, made up or not finished
    made_by: str = ""  # version and command
    configurations: Mapping[str, str] = {}  # by the name of the policy


def page(heading: Heading, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The whole page, in pieces."""
    yield _head(heading.title)
    yield f"<h1>{escape(heading.title)}</h1>\n"
    yield from (
        f"<p>{escape(one)}</p>\n" for one in (*heading.facts, f"Nodes: {capacity_text(outcomes[0])}.")
    )
    if heading.notes:
        yield f'<ul class="notes">{"".join(f"<li>{escape(one)}</li>" for one in heading.notes)}</ul>\n'
    yield "<h2>Figures</h2>\n"
    yield from _table(overview(outcomes), texts=1)
    for number, figure in enumerate(figures(outcomes)):
        yield f"<h2>{escape(figure.heading)}</h2>\n"
        yield f'<figure><div class="wide">{figure.plot.svg(str(number))}</div>'
        yield f"<figcaption>{escape(figure.caption)}</figcaption></figure>\n"
    yield "<h2>Wait and total delay by size</h2>\n"
    yield from _table(waits_by_size(outcomes), texts=2)
    yield "<h2>Wait and total delay by queue</h2>\n"
    yield from _table(waits_by_queue(outcomes), texts=2)
    yield "<h2>Shares and evictions by queue</h2>\n"
    yield from _table(queues(outcomes), texts=2)
    yield "<h2>What the figures mean</h2>\n<dl>"
    yield from (f"<dt>{escape(term)}</dt><dd>{escape(meaning)}</dd>" for term, meaning in _DEFINITIONS)
    yield "</dl>\n"
    if heading.configurations:
        yield "<h2>Configurations</h2>\n"
    for name, text in heading.configurations.items():
        yield f"<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>\n"
    if heading.made_by:
        yield f"<h2>Made by</h2>\n<p><code>{escape(heading.made_by)}</code></p>\n"
    yield "</body>\n</html>\n"


def _head(title: str) -> str:
    colours = _classes(_LIGHT) + f"@media(prefers-color-scheme:dark){{{_classes(_DARK)}}}"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{colours}</style>\n</head>\n<body>\n"
    )


def _classes(colours: Iterable[str]) -> str:
    return "".join(
        f".s{index}{{stroke:{colour}}}.f{index}{{fill:{colour}}}" for index, colour in enumerate(colours)
    )


def _table(table: Table, texts: int) -> Iterator[str]:
    """A table; the first columns are texts, the others numbers."""
    headings, rows = table
    yield '<div class="wide"><table><thead><tr>'
    yield "".join(f'<th scope="col">{escape(one)}</th>' for one in headings)
    yield "</tr></thead><tbody>\n"
    for first, *others in rows:
        kinds = [' class="text"'] * (texts - 1) + [""] * len(others)
        cells = "".join(f"<td{kind}>{escape(one)}</td>" for kind, one in zip(kinds, others, strict=False))
        yield f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>\n'
    yield "</tbody></table></div>\n"
