#!/usr/bin/env python3
"""Runs ctest, and tells how far it is and how long the rest takes.

  run_ctest.py BUILD [--changed] [--verbose] [ARGUMENTS OF CTEST...]

Passed tests are only counted. ctest begins with those that took longest in earlier runs. A fresh clone has had none, so their
times come from tests/slow_tests.txt, which also says why they take so long; a slow test that is missing there is named.
--changed: only tests of which a program or script is newer than the last run that passed.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SLOW_TESTS = ROOT / "tests" / "slow_tests.txt"
SLOW_S = 5.0
USUAL_S = 0.2  # of a test of which nothing is known
TELL_S = 30
ENTRY = re.compile(r"^(?P<seconds>[\d.]+) (?P<name>\S+): \S")
STARTED = re.compile(r"^ +Start +\d+: (?P<name>.*)$")
ENDED = re.compile(r"^ *\d+/\d+ Test +#\d+: (?P<name>.*?) \.*(?P<how>[ *].*?) +(?P<seconds>[\d.]+) sec")


def slow_tests(path=SLOW_TESTS):
    """(pattern of names, seconds) for each line."""
    entries = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line and not line.startswith("#"):
            match = ENTRY.match(line)
            if not match:
                raise ValueError(f"{path.name}:{number}: not \"<seconds> <name>: <why>\"")
            entries.append((match["name"], float(match["seconds"])))
    return entries


def entry_of(name, entries):
    return next((entry for entry in entries if fnmatch.fnmatchcase(name, entry[0])), None)


def seconds_of_earlier_runs(costs):
    """ctest's own file: name, runs, seconds; after "---" what failed last."""
    if not costs.exists():
        return {}
    lines = costs.read_text(encoding="utf-8").split("---")[0].splitlines()
    return {words[0]: float(words[2]) for words in map(str.split, lines) if len(words) == 3}


def expected_seconds(names, costs, entries):
    """What each test takes. ctest reads the same file, so in a fresh clone this writes it."""
    known = seconds_of_earlier_runs(costs)
    listed = {name: entry[1] for name in names if name not in known and (entry := entry_of(name, entries))}
    if not known and listed:
        costs.parent.mkdir(parents=True, exist_ok=True)
        costs.write_text("".join(f"{name} 1 {seconds}\n" for name, seconds in listed.items()) + "---\n", encoding="utf-8")
    return {name: known.get(name, listed.get(name, USUAL_S)) for name in names}


class Progress:
    """Counts tests, and weighs each by the time that it was expected to take."""

    def __init__(self, expected):
        self.expected = expected
        self.total = sum(expected.values())
        self.ended = 0
        self.weight = 0.0
        self.running = {}

    def begins(self, name, now):
        self.running[name] = now

    def ends(self, name):
        self.running.pop(name, None)
        self.ended += 1
        self.weight += self.expected.get(name, 0.0)

    def left(self, elapsed, now):
        """Seconds that the rest takes at the rate so far, or None while that means nothing."""
        running = sum(min(now - since, self.expected.get(name, 0.0)) for name, since in self.running.items())
        done = self.weight + running
        return None if elapsed < 10 or done <= 0 else elapsed * max(0.0, self.total - done) / done

    def text(self, elapsed, now):
        left = self.left(elapsed, now)
        more = "" if left is None else f", about {left:.0f} s more"
        return f"{self.ended} of {len(self.expected)} tests{more}"


class Screen:
    """On a terminal the progress is one line that changes; elsewhere a line each half minute."""

    def __init__(self):
        self.lively = sys.stdout.isatty()
        self.told = time.monotonic()

    def progress(self, text):
        if self.lively:
            print(f"\r\033[K{text}", end="", flush=True)
        elif time.monotonic() - self.told >= TELL_S:
            self.told = time.monotonic()
            print(text, flush=True)

    def line(self, text):
        print(f"\r\033[K{text}" if self.lively else text, flush=True)


def listing(build, arguments):
    told = subprocess.run(["ctest", "--show-only=json-v1", *arguments], cwd=build, capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit(told.stderr.strip() or "ctest lists no tests")
    return json.loads(told.stdout)["tests"]


def of_what_changed(tests, since):
    """The argument of ctest that leaves the groups (what stands before a name's first dot) in which a test's command or
    environment names a file that is newer; None if there is none."""
    times = {}

    def time_of(path):
        if path not in times:
            times[path] = os.stat(path).st_mtime if os.path.isfile(path) else 0.0
        return times[path]

    def is_newer(test):
        environment = next((p["value"] for p in test.get("properties", []) if p["name"] == "ENVIRONMENT"), [])
        words = (word for text in (*test.get("command", []), *environment) for word in re.split("[=:,]", text))
        return any(time_of(word) > since for word in words if word.startswith("/"))

    groups = sorted({test["name"].split(".")[0] for test in tests if is_newer(test)})
    return f"^({'|'.join(map(re.escape, groups))})[.]" if groups else None


def run(build, command, expected, verbose):
    """Returns ctest's exit code and the seconds of each test that ended."""
    progress, screen, took = Progress(expected), Screen(), {}
    started = time.monotonic()
    with subprocess.Popen(command, cwd=build, stdout=subprocess.PIPE, text=True, errors="replace") as ctest:
        for line in ctest.stdout:
            now = time.monotonic()
            begins, ends = STARTED.match(line), ENDED.match(line)
            if begins:
                progress.begins(begins["name"].strip(), now)
            elif ends:
                progress.ends(ends["name"])
                took[ends["name"]] = float(ends["seconds"])
            if verbose or not (begins or (ends and ends["how"].strip() == "Passed")):
                screen.line(line.rstrip("\n"))
            if begins or ends:
                screen.progress(progress.text(now - started, now))
    return ctest.returncode, took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="name each test")
    options, arguments = parser.parse_known_args()
    passed = options.build / "tests_passed"  # touched by a run that passed
    started = time.time()
    if options.changed:
        chosen = of_what_changed(listing(options.build, arguments), passed.stat().st_mtime if passed.exists() else 0.0)
        if not chosen:
            print("Nothing has changed since the last run that passed.")
            return 0
        arguments += ["-R", chosen]
    entries = slow_tests()
    names = [test["name"] for test in listing(options.build, arguments)]
    expected = expected_seconds(names, options.build / "Testing" / "Temporary" / "CTestCostData.txt", entries)
    code, took = run(options.build, ["ctest", *arguments], expected, options.verbose)
    unknown = sorted(name for name, seconds in took.items() if seconds > SLOW_S and not entry_of(name, entries))
    if unknown:
        print(f"Longer than {SLOW_S:g} s without a reason in {SLOW_TESTS.relative_to(ROOT)}; other programs may have had the processors:")
        print(*(f"{took[name]:.0f} {name}: " for name in unknown), sep="\n")
    if code == 0 and (options.changed or not {"-R", "-L"} & set(arguments)):
        passed.touch()
        os.utime(passed, (started, started))
    return code


if __name__ == "__main__":
    sys.exit(main())
