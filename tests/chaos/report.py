"""What scripts/chaos reports at the end: for people (Markdown), for programs (JSON) and as a picture (HTML)."""

import json

from picture import Picture
from verdict import SECOND

EXPLAINED = {
    "terms": "terms",
    "claims": "claims to lead, one each 5 ms",
    "in_doubt": "times in doubt",
    "rows_fenced": "rows accepted by the fence",
    "stale_writes_refused": "stale writes refused by the fence",
    "stale_rows_fenced": "**stale writes accepted by the fence**",
    "rows_unfenced": "rows written without a fence",
    "stale_rows_unfenced": "of them stale (this is what the fence is for)",
    "added_fenced": "elements added through the fence",
    "lost_fenced": "**updates lost with the fence**",
    "added_unfenced": "elements added without a fence",
    "lost_unfenced": "updates lost without a fence",
    "longest_vacancy_s": "longest time without a leader, seconds",
    "vacant_s": "all times without a leader, seconds",
    "blocked_s": "time in which nobody could be elected, seconds (not counted above)",
}
SET_ONLY = {"added_fenced", "lost_fenced", "added_unfenced", "lost_unfenced"}
ROWS_ONLY = {"rows_fenced", "stale_rows_fenced", "rows_unfenced", "stale_rows_unfenced"}


def shown(value):
    return f"{value:.2f}" if isinstance(value, float) else str(value)


class Report:
    def __init__(self, settings, run, verdict, faults, skipped, schedule, names):
        self.settings, self.run, self.verdict = settings, run, verdict
        self.faults, self.skipped, self.schedule, self.names = faults, skipped, schedule, names

    def counts(self):
        counted = {}
        for fault in self.faults:
            counted[fault["what"]] = counted.get(fault["what"], 0) + 1
        return dict(sorted(counted.items()))

    def sentence(self):
        if not self.verdict.faults:
            return "passed: one leader at a time, and no stale write accepted"
        return f"FAILED: {len(self.verdict.faults)} promises were broken"

    def markdown(self):
        figures, unused = self.verdict.figures, ROWS_ONLY if self.run.sets else SET_ONLY
        lines = [f"# Chaos: {self.settings['store']}, {figures['seconds']:.0f} s, seed {self.settings['seed']}", "",
                 f"**{self.sentence()}**", ""]
        lines += [f"- {fault}" for fault in self.verdict.faults]
        lines += ["", f"Again: `{self.settings['command']}`", "", "| | |", "|---|---:|"]
        lines += [f"| {text} | {shown(figures[name])} |" for name, text in EXPLAINED.items()
                  if name in figures and name not in unused]
        lines += ["", "| what was done | times |", "|---|---:|"]
        lines += [f"| {what} | {count} |" for what, count in self.counts().items()]
        lines += [f"| planned, but the victim was out of action already | {self.skipped} |"]
        lines += ["", "| a term ended because | times |", "|---|---:|"]
        lines += [f"| {reason} | {count} |" for reason, count in sorted(figures["revoked"].items())]
        killed = figures["terms"] - sum(figures["revoked"].values())
        lines += [f"| its process was killed | {killed} |", ""]
        return "\n".join(lines)

    def json(self):
        return {"passed": not self.verdict.faults, "faults": self.verdict.faults, "settings": self.settings,
                "figures": self.verdict.figures, "done": self.counts(), "skipped": self.skipped,
                "schedule": self.schedule,
                "actions": [{**f, "t": round((f["t"] - self.run.began) / SECOND, 4)} for f in self.faults],
                "blocked": [[round((a - self.run.began) / SECOND, 4), round((b - self.run.began) / SECOND, 4), why]
                            for a, b, why in self.run.blocked],
                "terms": [{"process": t.holder, "token": t.token, "from": round((t.first_sign() - self.run.began) / SECOND, 4),
                           "to": round((t.last_sign() - self.run.began) / SECOND, 4), "reason": t.reason}
                          for t in self.verdict.terms]}

    def write(self, directory):
        directory.mkdir(parents=True, exist_ok=True)
        text = self.markdown()
        (directory / "report.md").write_text(text, encoding="utf-8")
        (directory / "report.json").write_text(json.dumps(self.json(), indent=1) + "\n", encoding="utf-8")
        page = Picture(self.run, self.verdict, self.faults, self.names).page(
            f"Chaos: {self.settings['store']}, seed {self.settings['seed']}", self.sentence(), text)
        (directory / "timeline.html").write_text(page, encoding="utf-8")
