"""The component of a mutant, which survivors are called equivalent, and the report of a run."""

import difflib
import fnmatch

import judge

PRODUCT = ("lockcore", "election", "jobs", "ops", "adapters", "config", "cli")
SESSIONS = ("lockcore/lock/*.cpp", "lockcore/token/*.cpp")
DRIVER = tuple(f"lockcore/{floor}/" for floor in ("port", "lease", "runtime", "driver"))
ORDER = ("protocol", "lock sessions", "driver")
EQUIVALENT = "equivalent"


class BadList(Exception):
    pass


class Components:
    """protocol (scripts/protocol_sources.txt), lock sessions, driver (the code around both); then by folder."""

    def __init__(self, root):
        lines = (root / "scripts/protocol_sources.txt").read_text().splitlines()
        self.protocol = [line for line in lines if line and not line.startswith("#")]

    def of(self, path):
        if any(fnmatch.fnmatch(path, pattern) for pattern in self.protocol):
            return "protocol"
        if any(fnmatch.fnmatch(path, pattern) for pattern in SESSIONS):
            return "lock sessions"
        parts = path.split("/")
        if path.startswith(DRIVER):
            return "driver"
        if path.startswith("lockcore/stores/"):
            return "/".join(parts[1:3])
        if path.startswith("lockcore/"):
            return parts[1]
        return "/".join(parts[:2]) if path.startswith("adapters/") else parts[0]


def read_equivalents(path):
    """identity -> reason. One in each line: identity | was -> is | reason | who confirmed it."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(" | ")]
        if len(parts) != 4 or not all(parts):
            raise BadList(f"{path}:{number}: four parts are wanted: identity | was -> is | reason | who confirmed it")
        found[parts[0]] = parts[2]
    return found


def changed_lines(mutant, source):
    """The lines that it changes, as (was, is)."""
    pairs = zip(source.splitlines(), mutant.apply(source).splitlines())
    different = [(was.strip(), now.strip()) for was, now in pairs if was != now]
    return " ".join(was for was, _ in different), " ".join(now for _, now in different)


def diff(mutant, source):
    lines = difflib.unified_diff(source.splitlines(True), mutant.apply(source).splitlines(True), f"a/{mutant.path}",
                                 f"b/{mutant.path}", n=2)
    return "".join(lines)


def score(counts):
    """Of 100 mutants that are not called equivalent, how many were noticed; None if there are none."""
    seen = counts.get(judge.KILLED, 0) + counts.get(judge.TIMED_OUT, 0)
    all_of_them = seen + counts.get(judge.SURVIVED, 0) + counts.get(judge.UNREACHED, 0)
    return round(100 * seen / all_of_them, 1) if all_of_them else None


def tally(verdicts, component_of):
    """component -> outcome -> number; "all" for the total."""
    found = {}
    for verdict in verdicts:
        for name in (component_of(verdict.identity.rsplit(":", 1)[0]), "all"):
            counts = found.setdefault(name, {})
            counts[verdict.outcome] = counts.get(verdict.outcome, 0) + 1
    names = sorted(found, key=lambda name: (name == "all", name not in ORDER, name))
    return {name: found[name] for name in names}


COLUMNS = (judge.KILLED, judge.TIMED_OUT, judge.SURVIVED, judge.UNREACHED, EQUIVALENT, judge.SAME, judge.INVALID)


def table(tallied):
    rows = [["component", *COLUMNS, "seen of 100"]]
    for name, counts in tallied.items():
        percent = score(counts)
        rows.append([name, *(str(counts.get(column, 0)) for column in COLUMNS), "-" if percent is None else str(percent)])
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(widths[at]) if at == 0 else cell.rjust(widths[at]) for at, cell in enumerate(row))
                     for row in rows)


def result(verdicts, mutants, sources, tallied, about):
    """The content of the JSON file."""
    survivors = [{"id": verdict.identity, "line": mutants[verdict.identity].line, "rule": mutants[verdict.identity].rule,
                  "outcome": verdict.outcome, "tests": verdict.tests,
                  "diff": diff(mutants[verdict.identity], sources[mutants[verdict.identity].path])}
                 for verdict in verdicts if verdict.outcome in (judge.SURVIVED, judge.UNREACHED)]
    return {**about, "score": score(tallied.get("all", {})), "components": tallied, "survivors": survivors,
            "verdicts": [{"id": v.identity, "outcome": v.outcome, "by": v.by, "seconds": v.seconds} for v in verdicts]}
