#!/usr/bin/env python3
"""Draws results of scripts/bench --json as bars, one panel for each file, as SVG on stdout.

    scripts/bench locks --json sqlite.json
    scripts/bench locks --store dynamodb --json dynamodb.json
    scripts/bench_chart.py sqlite.json dynamodb.json > locks.svg

Each sample of a bench is a bar: its median, with a thin line to p99 and both as text. The bars of a panel share one
scale. A bar that would be longer than the panel ends at the panel's edge. Figures with a bound are listed below, with
their bound. The panel's title is the name of its file.
"""

import html
import json
import pathlib
import sys

LEFT, WIDTH, BAR = 290, 820, 26
STYLE = ("text{font:13px system-ui,sans-serif;fill:#222}.t{font-weight:600;font-size:15px}.b{fill:#2b6cb0}.w{stroke:#222}"
         ".ok{fill:#2f7d5b}.bad{fill:#c02020}")


def samples(figures):
    """{name: {"p50": ms, "p99": ms, "max": ms}} in the order of the run."""
    found = {}
    for key, value in figures.items():
        name, comma, rest = key.rpartition(", ")
        if comma and rest.endswith(" (ms)"):
            found.setdefault(name, {})[rest.removesuffix(" (ms)")] = value
    return {name: s for name, s in found.items() if s.get("p50") is not None and s.get("p99") is not None}


def panel(title, results, y):
    parts = [f'<text class="t" x="12" y="{y + 16}">{html.escape(title)}</text>']
    y += 30
    taken = samples(results["figures"])
    # A sample that is far above the others (such as waits in a crowd) must not make the others invisible.
    middle = sorted(s["p99"] for s in taken.values())[(len(taken) - 1) // 2] if taken else 1
    scale = (WIDTH - LEFT - 170) / max(middle * 2, 1e-9)
    for name, s in taken.items():
        end, far = (LEFT + min(value * scale, WIDTH - LEFT - 170) for value in (s["p50"], s["p99"]))
        parts.append(f'<text x="12" y="{y + 15}">{html.escape(name)}</text>'
                     f'<rect class="b" x="{LEFT}" y="{y + 3}" width="{max(end - LEFT, 1):.1f}" height="{BAR - 9}"/>'
                     f'<line class="w" x1="{end:.1f}" x2="{far:.1f}" y1="{y + 11}" y2="{y + 11}"/>'
                     f'<text x="{far + 8:.1f}" y="{y + 16}">p50 {s["p50"]:.4g} ms, p99 {s["p99"]:.4g} ms</text>')
        y += BAR
    for name, bound in results["bounds"].items():
        value = results["figures"][name]
        kind = "ok" if value is not None and value <= bound else "bad"
        text = "no figure" if value is None else f"{value:.3g}, at most {bound:.3g}"
        parts.append(f'<text x="12" y="{y + 15}">{html.escape(name)}</text>'
                     f'<text class="{kind}" x="{LEFT + 170}" y="{y + 15}">{text}</text>')
        y += BAR - 6
    return parts, y + 16


def svg(files):
    parts, y = [], 8
    for path in files:
        more, y = panel(pathlib.Path(path).stem, json.loads(pathlib.Path(path).read_text()), y)
        parts += more
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}">'
            f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    sys.stdout.write(svg(sys.argv[1:]))
