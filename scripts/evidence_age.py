"""Finds out how old a kept result is, counted in changed lines of its sources, and runs it again if it is too old."""

import json
import re
import subprocess
import sys
import tempfile
import time

CHANGED = 0.02  # share of changed lines; if more changed, they may have a fault that the run could not see


def git(root, *arguments):
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def lines_under(root, paths):
    names = git(root, "ls-files", "-z", "--", *paths)
    files = [root / name for name in (names or "").split("\0") if name]
    return sum(path.read_bytes().count(b"\n") for path in files if path.is_file())


def changed_since(root, commit, paths):
    """Lines added and removed since the commit, in the working tree too. None if this history lacks the commit."""
    numbers = git(root, "diff", "--numstat", "--no-renames", commit, "--", *paths)
    if numbers is None:
        return None
    return sum(int(a) + int(b) for a, b in re.findall(r"^(\d+)\t(\d+)\t", numbers, re.MULTILINE))


class Age:
    """The age of one run: its sources have `lines`, and `changed` of them changed since its commit."""

    def __init__(self, root, commit, paths):
        self.paths = paths
        self.lines = lines_under(root, paths)
        self.changed = changed_since(root, commit, paths)
        # A clone that has only the last commits cannot tell the age, and must not call the run stale.
        self.unknown = self.changed is None and git(root, "rev-parse", "--is-shallow-repository") != "false\n"

    @property
    def stale(self):
        return not self.unknown and (self.changed is None or self.changed > CHANGED * max(self.lines, 1))

    @property
    def verdict(self):
        return "unknown" if self.unknown else "changed" if self.stale else "the same"

    def sentence(self):
        under = ", ".join(self.paths)
        if self.changed is None:
            return f"its commit is not in this history, so the changes since under {under} cannot be counted: {self.verdict}"
        share = 100 * self.changed / max(self.lines, 1)
        return f"since then {self.changed:,} lines changed for {self.lines:,} under {under} ({share:.1f} %): {self.verdict}"


def without_ages(text):
    return re.sub(r" \| (?:unknown|changed|the same) \|$", " |", text, flags=re.MULTILINE)


def due(known, runs, ages, hours):
    """The stale runs that fit into that time. Those with the largest share of changed lines come first."""
    def share(name):
        age = ages.get(name)
        return 1.0 if age is None or age.changed is None else age.changed / max(age.lines, 1)

    names = [name for name in known if name not in runs or ages[name].stale]
    left, chosen, beyond = hours * 60, [], []
    for name in sorted(names, key=share, reverse=True):
        fits = known[name]["minutes"] <= left
        (chosen if fits else beyond).append(name)
        left -= known[name]["minutes"] if fits else 0
    return chosen, beyond


def run_again(root, name, how, record):
    """True if the run succeeded; then its result is recorded."""
    with tempfile.TemporaryDirectory(prefix="tenure-evidence.") as directory:
        command = how["command"].replace("{directory}", directory)
        result = root / how["result"].replace("{directory}", directory)
        result.unlink(missing_ok=True)  # some commands add to the sums of earlier runs
        print(f"== {name}, about {how['minutes']} min: {command}", flush=True)
        began = time.monotonic()
        code = subprocess.run(["bash", "-c", command], cwd=root).returncode
        took = (time.monotonic() - began) / 60
        if code != 0 or not result.is_file():
            print(f"evidence: {name} failed after {took:.0f} min (exit code {code}); what was kept stays", file=sys.stderr)
            return False
        record(name, result, re.sub(r" --(json|out) \{directory\}\S*|TENURE_FIGURES=\S+ ", "", how["command"]))
        return True


def known_runs(path):
    """How each run is made: {"NAME": {"command", "result", "minutes", "under": [paths]}}."""
    return json.loads(path.read_text(encoding="utf-8"))


def is_clean(root, paths):
    return git(root, "status", "--porcelain", "--", *paths) == ""
