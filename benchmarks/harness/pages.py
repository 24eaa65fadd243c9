"""The record as two pages: tables in Markdown, and one HTML file with the charts beside them."""

from __future__ import annotations

from html import escape
from typing import Any

from harness.charts import CHARTS, colours
from harness.tables import Table, table
from harness.targets import single, verdicts

METHOD = (
    "Peers and okl learn the same rows, in turn, within one run, each in a process of its own on one thread; "
    "then once more with all threads, for what can use them. Times are of learning alone, the best of "
    "several runs; processor time is the figure to compare, the wall is beside it. Memory is the growth of "
    "the process while it learned. Everyone's settings are the best of as many tries on the same validation "
    "rows, at each size that is shown; the rest is as its makers recommend."
)
STYLE = """
:root { color-scheme: light dark; --ink: #212529; --soft: #868e96; --line: #e3e6ea; --paper: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e9ecef; --soft: #909aa4; --line: #343a40; --paper: #16191d }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
body { max-width: 1180px; margin: 2em auto; padding: 0 1em }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; margin: 1em 0 }
td, th { padding: 2px 10px; text-align: right; border-bottom: 1px solid var(--line) }
td:first-child, th:first-child, td:last-child, th:last-child { text-align: left }
.charts { display: flex; flex-wrap: wrap; gap: 16px }
svg { flex: 1 1 480px; max-width: 580px; font-size: 11px }
svg text { fill: var(--soft) }
svg .title { fill: var(--ink); font-size: 13px; font-weight: 600 }
svg .grid { stroke: var(--line) }
.key span { display: inline-block; margin-right: 14px; font-size: 13px }
.key i { display: inline-block; width: 10px; height: 10px; border-radius: 5px; margin-right: 5px }
.missed { color: #e03131; font-weight: 600 } .met { color: #2f9e44 }
"""


def provenance(record: dict[str, Any]) -> str:
    machine, versions = record["machine"], record["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    cut = [name for name, experiment in record["experiments"].items() if experiment["size"] != "full"]
    trial = f" **Fewer rows and tries than in a full run: {', '.join(cut)}.**" if cut else ""
    where = f"{machine['processor']}, {machine['cores']} cores, {machine['memory'] / 2**30:.0f} GB"
    load = f"load {machine['load']:.1f} at the end"
    return f"{record['date']}, {where}, {machine['system']}, {load}. {packages}.{trial}"


def verdict_table(record: dict[str, Any]) -> Table:
    rows = [[v.target, v.where, "met" if v.met else "**missed**", v.figure] for v in verdicts(record)]
    return ["asked for", "on", "", "figure"], rows


def missing(record: dict[str, Any]) -> list[str]:
    absent = {p: why for e in record["experiments"].values() for p, why in e["missing"].items()}
    return [f"{program} did not run: {why}" for program, why in absent.items()]


def remarks(record: dict[str, Any]) -> list[str]:
    """What whoever made the record wants its reader to know, and what is not in it."""
    return [*record.get("notes", []), *missing(record)]


def markdown_table(made: Table) -> str:
    head, rows = made
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)


def markdown(record: dict[str, Any]) -> str:
    parts = [
        "# okl and its peers",
        "Written by `make bench`. [peers.html](peers.html) has charts, [record.json](record.json) all figures.",
        provenance(record),
        METHOD,
        "## Targets",
        markdown_table(verdict_table(record)),
        *remarks(record),
    ]
    for experiment in record["experiments"].values():
        title, about = experiment["title"], experiment["about"]
        cut = f"{experiment['rows']:,} rows." if experiment["kind"] != "novelty" else ""
        parts += [
            f"## {title}",
            f"{about} {cut}".strip(),
            markdown_table(table(experiment)),
        ]
    return "\n\n".join(parts) + "\n"


def html_table(made: Table) -> str:
    head, rows = made

    def cell(text: str) -> str:
        kind = {"**missed**": "missed", "met": "met"}.get(text)
        return f'<td class="{kind}">{kind}</td>' if kind else f"<td>{escape(text).replace(' %', '&nbsp;%')}</td>"

    header = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{header}</tr>{body}</table></div>'


def key(experiment: dict[str, Any]) -> str:
    entries = colours(single(experiment)).items()
    return (
        '<p class="key">'
        + "".join(
            f'<span><i style="background:{colour}"></i>{escape(name)}</span>' for name, colour in entries
        )
        + "</p>"
    )


def html(record: dict[str, Any]) -> str:
    parts = [
        "<!doctype html>",
        '<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>okl and its peers</title><style>{STYLE}</style>",
        "<h1>okl and its peers</h1>",
        f"<p>{escape(provenance(record)).replace('**', '')}</p><p>{escape(METHOD)}</p>",
        "<h2>Targets</h2>",
        html_table(verdict_table(record)),
        *(f"<p>{escape(line)}</p>" for line in remarks(record)),
    ]
    for experiment in record["experiments"].values():
        charts = CHARTS[experiment["kind"]](experiment)
        parts += [
            f"<h2>{escape(experiment['title'])}</h2><p>{escape(experiment['about'])}</p>",
            '<div class="charts">' + "\n".join(charts) + "</div>",
            key(experiment),
            html_table(table(experiment)),
        ]
    return "\n".join(parts) + "</html>\n"
