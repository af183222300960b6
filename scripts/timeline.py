"""Draws which candidate led when, which faults hit it, and which resource refused what: for a terminal and as SVG in an
HTML page."""

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
        self.resources = [(name, writes_to(name, demo.candidates)) for name in demo.LANES]
        self.freeze_note = demo.FREEZE_NOTE

    @staticmethod
    def _freezes(candidate):
        stops = [at for at, what in candidate.faults if what == "SIGSTOP"]
        wakes = [at for at, what in candidate.faults if what == "SIGCONT"]
        return list(zip(stops, wakes))

    @classmethod
    def _frozen(cls, candidate, start, ended):
        return any(start < a and ended > a for a, _ in cls._freezes(candidate))

    def _rejections(self):
        """Refusals of one candidate that follow one another share one label: candidate, time, names of the resources."""
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
        page = Page(self.begin, self.end, [*self.names, *(name for name, _ in self.resources)])
        self._draw_frozen(page)
        for n, (i, token, start, ended) in enumerate(self.terms):
            page.bar(i, start, ended, TERM_COLOURS[n % len(TERM_COLOURS)], f"token {token}",
                     f"token {token}, {(ended - start) / 1e9:.3f} s")
        for i, at, what in self.faults:
            page.fault(i, at, what)
        for i, at, resources in self._rejections():
            by = f" by {', '.join(resources)}" if resources else ""
            page.text(at, i, 41, "refused", f"\u2717 stale write refused{by}")
        colours = {token: TERM_COLOURS[n % len(TERM_COLOURS)] for n, (_, token, _, _) in enumerate(self.terms)}
        for lane, (_, writes) in enumerate(self.resources, len(self.names)):
            draw_resource(page, lane, writes, colours)
        return page.html("Who led, and what each resource took" if self.resources else "Who led when",
                         RESOURCES_LEGEND if self.resources else "")

    def _draw_frozen(self, page):
        for i, stop, wake in self.frozen:
            told = f"frozen for {(wake - stop) / 1e9:.2f} s"
            page.frozen(i, stop, wake, f"{told}, {self.freeze_note}" if self.freeze_note else told)


class Page:
    """Lanes over one scale of time, as SVG."""

    LEFT, LANE, WIDTH = 130, 44, 1060

    def __init__(self, begin, end, names):
        self.begin, self.end = begin, end
        self.height = self.LANE * len(names) + 60
        self.parts = []
        for lane, name in enumerate(names):
            y = self.y(lane)
            self.parts.append(f'<text x="8" y="{y + 24}" class="name">{html.escape(name)}</text>')
            self.parts.append(f'<line x1="{self.LEFT}" x2="{self.WIDTH - 20}" y1="{y + 20}" y2="{y + 20}" class="idle"/>')

    def x(self, at):
        return self.LEFT + (at - self.begin) / (self.end - self.begin) * (self.WIDTH - self.LEFT - 20)

    def y(self, lane):
        return 20 + lane * self.LANE

    def text(self, at, lane, below, kind, text):
        """The text is to the right of its instant, or to the left if there is no room."""
        left = self.x(at) + 3 + sum(8 if c.isupper() else 5.5 for c in text) > self.WIDTH
        side = ' text-anchor="end"' if left else ""
        self.parts.append(f'<text x="{self.x(at) + (-3 if left else 3):.1f}" y="{self.y(lane) + below}" class="{kind}"{side}>'
                          f'{html.escape(text)}</text>')

    def bar(self, lane, start, ended, colour, label, title):
        width = max(2, self.x(ended) - self.x(start))
        self.parts.append(f'<rect x="{self.x(start):.1f}" y="{self.y(lane) + 8}" width="{width:.1f}" height="24" '
                          f'rx="3" fill="{colour}"><title>{html.escape(title)}</title></rect>')
        self.parts.append(f'<text x="{self.x(start) + 6:.1f}" y="{self.y(lane) + 25}" class="token">'
                          f'{html.escape(label)}</text>')

    def frozen(self, lane, stop, wake, told):
        self.parts.append(f'<rect x="{self.x(stop):.1f}" y="{self.y(lane) + 4}" width="{self.x(wake) - self.x(stop):.1f}" '
                          f'height="32" class="frozen"><title>{html.escape(told)}</title></rect>')
        if self.x(wake) - self.x(stop) > 6 * len(told):  # else the title alone tells it
            self.parts.append(f'<text x="{(self.x(stop) + self.x(wake)) / 2:.1f}" y="{self.y(lane) + 24}" '
                              f'class="asleep">{html.escape(told)}</text>')

    def fault(self, lane, at, what):
        x, y = self.x(at), self.y(lane)
        self.parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 2}" y2="{y + 42}" class="fault"/>')
        self.text(at, lane, 4, "mark", what)

    def mark(self, lane, at, kind, sign, text):
        x, y = self.x(at), self.y(lane)
        self.parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y + 4}" y2="{y + 36}" class="{kind}"/>')
        self.text(at, lane, 41, kind, f"{sign} {text}")

    def html(self, heading, legend):
        seconds = range(0, int((self.end - self.begin) / 1e9) + 1)
        ticks = [f'<text x="{self.x(self.begin + s * 1e9):.1f}" y="{self.height - 12}" class="tick">{s} s</text>'
                 for s in seconds]
        return PAGE.format(heading=heading, legend=legend, width=self.WIDTH, height=self.height,
                           body="\n".join([*self.parts, *ticks]))


def writes_to(resource, candidates):
    """The writes in the order of time, each (at, token, seen). `seen` is the token with which the resource refused the
    write; None: the resource accepted it."""
    events = [e for c in candidates for e in c.events if e["e"] in ("wrote", "refused") and e.get("resource") == resource]
    return [(e["t"], e["token"], e["seen"] if e["e"] == "refused" else None) for e in sorted(events, key=lambda e: e["t"])]


def draw_resource(page, lane, writes, colours):
    """Bars for consecutive writes that were accepted with one token, marks for writes that were refused or should be."""
    runs, marks, highest = [], [], 0
    for at, token, seen in writes:
        if seen is not None:
            marks.append((at, "refused", "\u2717", f"token {token} refused, {seen} seen"))
        elif token < highest:
            marks.append((at, "stale", "\u2713", f"stale token {token} accepted after {highest}"))
        elif token == highest:
            runs[-1][2:] = at, runs[-1][3] + 1
        else:
            runs.append([token, at, at, 1])
        highest = max(highest, token) if seen is None else highest
    for token, first, last, count in runs:
        page.bar(lane, first, last, colours.get(token, "#777"), f"token {token}",
                 f"{count} writes with token {token} accepted")
    for at, kind, sign, text in marks:
        page.mark(lane, at, kind, sign, text)


RESOURCES_LEGEND = ("<p>Below the processes what the resources did, as the writers were told: a bar for the writes that one took "
                    "with a token, \u2717 for a stale write that it refused, and \u2713 for one that it took.</p>")

PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>tenure: {heading}</title>
<style>
  body {{ font: 15px system-ui, sans-serif; margin: 24px; color: #222; background: #fff }}
  .name {{ font-size: 14px; fill: #222 }} .token {{ font-size: 12px; fill: #fff }}
  .idle {{ stroke: #d8d8d8; stroke-width: 2 }} .asleep {{ font-size: 11px; fill: #2b5f96; text-anchor: middle }}
  .frozen {{ fill: #cfe3f7; stroke: #7aa7d6; stroke-dasharray: 4 3 }}
  .fault {{ stroke: #c02020; stroke-width: 1.5 }} .mark {{ font-size: 11px; fill: #c02020 }}
  text.refused, text.stale {{ font-size: 11px }} text.refused {{ fill: #00727a }} line.refused {{ stroke: #00727a; stroke-width: 3 }}
  text.stale {{ fill: #c02020; font-weight: bold }} line.stale {{ stroke: #c02020; stroke-width: 3 }}
  .tick {{ font-size: 11px; fill: #777; text-anchor: middle }}
</style>
<h1>{heading}</h1>
<p>Each bar is a term with its fencing token; blue: the process was frozen; red: what was done to it.</p>
{legend}
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="100%" style="max-width:{width}px"
  role="img" aria-label="Timeline of terms">
{body}
</svg>
</html>
"""
