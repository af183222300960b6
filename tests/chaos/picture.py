"""Draws a run of any length: who led when, which faults hit which process, what the fence refused. One strip for each
minute, in the style of scripts/timeline.py, as one self-contained HTML page."""

import html
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from timeline import TERM_COLOURS
from verdict import SECOND

STRIP_S = 60
LEFT, WIDTH, LANE = 110, 1240, 26
LENGTHS = {"SIGSTOP", "freezer", "CPU 2 %", "SIGUSR1 storm"}

PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>tenure: chaos</title>
<style>
  body {{ font: 15px system-ui, sans-serif; margin: 24px; color: #222; background: #fff }}
  .name {{ font-size: 12px; fill: #222 }} .token {{ font-size: 10px; fill: #fff }}
  .idle {{ stroke: #d8d8d8; stroke-width: 2 }} .frozen {{ fill: #cfe3f7; stroke: #7aa7d6; stroke-dasharray: 4 3 }}
  .store {{ fill: #f6dede }} .none {{ fill: #fff3c4 }} .gone {{ stroke: #fff; stroke-width: 4 }}
  .fault {{ stroke: #c02020; stroke-width: 1.5 }} .mark {{ font-size: 9px; fill: #c02020 }}
  .refused {{ font-size: 12px; fill: #00727a; text-anchor: middle }} .tick {{ font-size: 10px; fill: #777; text-anchor: middle }}
  .bad {{ color: #c02020; font-weight: bold }} .good {{ color: #2f7d5b; font-weight: bold }}
  svg {{ display: block; margin-bottom: 14px }} pre {{ background: #f6f6f6; padding: 12px; overflow-x: auto }}
</style>
<h1>{title}</h1>
<p class="{mood}">{verdict}</p>
<p>Each bar is a term with its fencing token, from the first to the last claim to lead; blue: the process stood still; red
lines: what was done to it; pink: what was done to the store; &#10007; a stale write that the fence refused.</p>
{strips}
<h2>The report</h2>
<pre>{report}</pre>
</html>
"""


class Picture:
    def __init__(self, run, verdict, faults, names):
        self._run, self._terms, self._faults, self._names = run, verdict.terms, faults, names
        self._lane = {name: n for n, name in enumerate(names)}

    def page(self, title, verdict, report):
        seconds = (self._run.ended - self._run.began) / SECOND
        strips = [self._strip(n * STRIP_S, min((n + 1) * STRIP_S, seconds)) for n in range(int(seconds / STRIP_S) + 1)
                  if n * STRIP_S < seconds]
        return PAGE.format(title=html.escape(title), verdict=html.escape(verdict.splitlines()[0]),
                           mood="good" if verdict.startswith("passed") else "bad", strips="\n".join(strips),
                           report=html.escape(report))

    def _strip(self, begin_s, end_s):
        self._from = self._run.began + int(begin_s * SECOND)
        self._to = self._run.began + int(end_s * SECOND)
        bottom = 14 + LANE * (len(self._names) + 1)
        parts = [*self._lanes(bottom), *self._bars(), *self._marks()]
        for second in range(int(begin_s), int(end_s) + 1, 5):
            parts.append(f'<text x="{self._x(self._run.began + second * SECOND):.1f}" y="{bottom + 12}" '
                         f'class="tick">{second} s</text>')
        body = "\n".join(parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 18}" width="100%" '
                f'style="max-width:{WIDTH}px" role="img" aria-label="{begin_s:.0f} s to {end_s:.0f} s">\n{body}\n</svg>')

    def _x(self, at):
        at = min(max(at, self._from), self._to)
        return LEFT + (at - self._from) / (STRIP_S * SECOND) * (WIDTH - LEFT - 20)

    def _y(self, lane):
        return 10 + lane * LANE

    def _shows(self, begin, end):
        return begin < self._to and end >= self._from

    def _box(self, lane, begin, end, kind, title, more=""):
        return (f'<rect x="{self._x(begin):.1f}" y="{self._y(lane) + 3}" width="{max(1.5, self._x(end) - self._x(begin)):.1f}" '
                f'height="{LANE - 8}" class="{kind}" {more}><title>{html.escape(title)}</title></rect>')

    def _lanes(self, bottom):
        for name, lane in self._lane.items():
            y = self._y(lane) + LANE // 2
            yield f'<text x="4" y="{y + 4}" class="name">{html.escape(name)}</text>'
            yield f'<line x1="{LEFT}" x2="{self._x(self._to):.1f}" y1="{y}" y2="{y}" class="idle"/>'
        yield f'<text x="4" y="{bottom - LANE + 12}" class="name">store</text>'
        for begin, end, why in self._run.blocked:
            if self._shows(begin, end):
                yield self._box(len(self._names), begin, end, "none", f"nobody could be elected: {why}")

    def _bars(self):
        lasting = [f for f in self._faults if f["seconds"]]
        for fault in lasting:
            end = fault["t"] + int(fault["seconds"] * SECOND)
            if not self._shows(fault["t"], end):
                continue
            told = f'{fault["what"]}, {fault["seconds"]:.2f} s'
            if fault["candidate"] is None:
                yield self._box(len(self._names), fault["t"], end, "store", told)
            elif fault["what"] in LENGTHS:
                yield self._box(self._lane[fault["candidate"]], fault["t"], end, "frozen", told)
        for n, term in enumerate(self._terms):
            begin, end = term.first_sign(), term.last_sign()
            if self._shows(begin, end):
                told = f"{term.holder}, token {term.token}, {(end - begin) / SECOND:.3f} s, {term.reason or 'not revoked'}"
                lane = self._lane[term.process.name]
                yield self._box(lane, begin, end, "term", told, f'rx="2" fill="{TERM_COLOURS[n % len(TERM_COLOURS)]}"')
                if self._x(end) - self._x(begin) > 22:
                    yield f'<text x="{self._x(begin) + 3:.1f}" y="{self._y(lane) + 16}" class="token">{term.token}</text>'

    def _marks(self):
        for fault in self._faults:
            if not self._shows(fault["t"], fault["t"]):
                continue
            lane = self._lane.get(fault["candidate"], len(self._names))
            x, y = self._x(fault["t"]), self._y(lane)
            yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + LANE - 3}" class="fault"/>'
            yield f'<text x="{x + 2:.1f}" y="{y + 2}" class="mark">{html.escape(fault["what"])}</text>'
        for process in self._run.processes:
            for event in process.events:
                if event["e"] == "refused" and self._shows(event["t"], event["t"]):
                    yield (f'<text x="{self._x(event["t"]):.1f}" y="{self._y(self._lane[process.name]) + 20}" '
                           f'class="refused">&#10007;</text>')
