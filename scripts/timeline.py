"""Draws who led when, what was done to whom, and what the fence refused: for a terminal and as SVG in an HTML page."""

import html

WIDTH = 96
MARKS = {"SIGKILL": "K", "SIGSTOP": "S", "SIGCONT": "C", "SIGTERM": "T"}
TERM_COLOURS = ["#2f7d5b", "#2b6cb0", "#8a5a00", "#7b3fa0", "#00727a", "#a03050"]


class Chart:
    def __init__(self, demo, terms):
        self.names = [c.name for c in demo.candidates]
        self.begin, self.end = demo.started, demo.ended
        self.terms = [(self.names.index(c.name), token, start, min(ended, max(last, start)) if self._frozen(c, start, ended)
                       else ended) for c, token, start, ended, last in terms]
        self.faults = [(i, at, what) for i, c in enumerate(demo.candidates) for at, what in c.faults]
        self.frozen = [(i, a, b) for i, c in enumerate(demo.candidates) for a, b in self._freezes(c)]
        self.refused = [(i, e["t"], e.get("resource")) for i, c in enumerate(demo.candidates) for e in c.events
                        if e["e"] == "refused"]

    @staticmethod
    def _freezes(candidate):
        stops = [at for at, what in candidate.faults if what == "SIGSTOP"]
        wakes = [at for at, what in candidate.faults if what == "SIGCONT"]
        return list(zip(stops, wakes))

    @classmethod
    def _frozen(cls, candidate, start, ended):
        return any(start < a and ended > a for a, _ in cls._freezes(candidate))

    def _refusals(self):
        """One label for those of a candidate that follow one another: candidate, time, names of the resources."""
        labels = []
        for i, at, resource in sorted(self.refused, key=lambda refused: refused[:2]):
            if not labels or labels[-1][0] != i or at - labels[-1][1] > 1e9:
                labels.append((i, at, []))
            labels[-1][2].extend([resource] if resource else [])
        return labels

    # -- terminal ---------------------------------------------------------------------------------------------------

    def _column(self, at):
        return min(WIDTH - 1, max(0, int((at - self.begin) / (self.end - self.begin) * WIDTH)))

    def text(self, colours):
        rows = [["."] * WIDTH for _ in self.names]
        for i, a, b in self.frozen:
            for column in range(self._column(a), self._column(b) + 1):
                rows[i][column] = "~"
        for i, token, start, ended in self.terms:
            first, last = self._column(start), self._column(ended)
            for column in range(first, last + 1):
                rows[i][column] = "="
            for offset, letter in enumerate(f"[{token}]"):
                if first + offset <= last:
                    rows[i][first + offset] = letter
        for i, at, what in self.faults:
            rows[i][self._column(at)] = MARKS[what]
        for i, at, _ in self.refused:
            column = self._column(at)
            while rows[i][column] in (*MARKS.values(), "x") and column + 1 < WIDTH:
                column += 1
            rows[i][column] = "x"
        label = max(map(len, self.names))
        lines = ["Timeline  [n]=== leads with token n   ~ frozen   K killed   S stopped   C continued   T asked to end   "
                 "x stale write refused"]
        for name, row in zip(self.names, rows):
            lines.append(f"  {name:<{label}} {''.join(self._paint(c, colours) for c in row)}")
        lines.append(" " * (label + 3) + self._scale())
        return "\n".join(lines)

    @staticmethod
    def _paint(letter, colours):
        if not colours:
            return letter
        code = {"=": "32", "[": "32", "]": "32", "~": "34", "x": "36", "K": "31", "S": "31", "C": "31", "T": "31",
                ".": "2"}.get(letter, "32")
        return f"\x1b[{code}m{letter}\x1b[0m"

    def _scale(self):
        seconds = (self.end - self.begin) / 1e9
        line = [" "] * (WIDTH + 6)
        for second in range(0, int(seconds) + 1, 2):
            for offset, letter in enumerate(f"{second}s"):
                line[int(second / seconds * WIDTH) + offset] = letter
        return "".join(line).rstrip()

    # -- page -------------------------------------------------------------------------------------------------------

    def html(self):
        left, lane, width = 130, 44, 1060
        height = lane * len(self.names) + 60

        def x(at):
            return left + (at - self.begin) / (self.end - self.begin) * (width - left - 20)

        def y(i):
            return 20 + i * lane

        parts = []
        for i, name in enumerate(self.names):
            parts.append(f'<text x="8" y="{y(i) + 24}" class="name">{html.escape(name)}</text>')
            parts.append(f'<line x1="{left}" x2="{width - 20}" y1="{y(i) + 20}" y2="{y(i) + 20}" class="idle"/>')
        for i, a, b in self.frozen:
            parts.append(f'<rect x="{x(a):.1f}" y="{y(i) + 4}" width="{x(b) - x(a):.1f}" height="32" class="frozen">'
                         f'<title>frozen for {(b - a) / 1e9:.2f} s</title></rect>')
        for n, (i, token, start, ended) in enumerate(self.terms):
            colour = TERM_COLOURS[n % len(TERM_COLOURS)]
            parts.append(f'<rect x="{x(start):.1f}" y="{y(i) + 8}" width="{max(2, x(ended) - x(start)):.1f}" height="24" '
                         f'rx="3" fill="{colour}"><title>token {token}, {(ended - start) / 1e9:.3f} s</title></rect>')
            parts.append(f'<text x="{x(start) + 6:.1f}" y="{y(i) + 25}" class="token">token {token}</text>')
        for i, at, what in self.faults:
            parts.append(f'<line x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{y(i) - 2}" y2="{y(i) + 42}" class="fault"/>')
            parts.append(f'<text x="{x(at) + 3:.1f}" y="{y(i) + 4}" class="mark">{what}</text>')
        for i, at, resources in self._refusals():
            by = f" by {', '.join(resources)}" if resources else ""
            parts.append(f'<text x="{x(at):.1f}" y="{y(i) + 41}" class="refused">&#10007; stale write refused{by}</text>')
        for second in range(0, int((self.end - self.begin) / 1e9) + 1):
            at = self.begin + second * 1e9
            parts.append(f'<text x="{x(at):.1f}" y="{height - 12}" class="tick">{second} s</text>')
        return PAGE.format(width=width, height=height, body="\n".join(parts))


PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>tenure: who led when</title>
<style>
  body {{ font: 15px system-ui, sans-serif; margin: 24px; color: #222; background: #fff }}
  .name {{ font-size: 14px; fill: #222 }} .token {{ font-size: 12px; fill: #fff }}
  .idle {{ stroke: #d8d8d8; stroke-width: 2 }} .frozen {{ fill: #cfe3f7; stroke: #7aa7d6; stroke-dasharray: 4 3 }}
  .fault {{ stroke: #c02020; stroke-width: 1.5 }} .mark {{ font-size: 11px; fill: #c02020 }}
  .refused {{ font-size: 11px; fill: #00727a }} .tick {{ font-size: 11px; fill: #777; text-anchor: middle }}
</style>
<h1>Who led when</h1>
<p>Each bar is a term with its fencing token; blue: the process was frozen; red: what was done to it.</p>
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="100%" style="max-width:{width}px"
  role="img" aria-label="Timeline of terms">
{body}
</svg>
</html>
"""
