#!/usr/bin/env python3
"""Runs the models of the protocol (lease.pml with its lease_*.pml, database.pml) through SPIN and checks the results.

  run_model.py --small       every property in reduced forms, all mutants, and the guard taken away: seconds
  run_model.py --full        two candidates with everything, every state: minutes, some GiB
  run_model.py --list        the configurations
  run_model.py --only NAME   one of them (may be repeated)
  run_model.py --trace NAME  the shortest way to the violation that this mutant must show, step by step

Verdicts are read from the checker's own output and nothing else. A search that is not complete (depth, memory, time) is
a failure, never a success. If there are too many states to store (three candidates), the verdict is "none seen" and no
more: only some bits of each state are stored, and the hash factor (bits for each state) says how much may have been
missed; above 100 it is next to nothing. Exit code 0: every run had the expected result; 1: one had not; 2: it could not
be run.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

MODELS = pathlib.Path(__file__).resolve().parent
LEASE, DATABASE = "lease.pml", "database.pml"

LEASE_PARTS = (LEASE, "lease_state.pml", "lease_mutants.pml", "lease_parts.pml")
PROPERTIES = ("MUTUAL_EXCLUSION", "NO_EARLY_TAKEOVER", "STABLE_LEADER", "NO_STALE_WRITE", "TOKENS_RISE", "NO_REVIVAL",
              "RELEASE_AFTER_WORK", "ONE_WORK_AT_A_TIME", "PROGRESS")
DATABASE_PROPERTIES = ("ONE_BELIEVER",)
LIVENESS = "SOMEBODY_LEADS"  # a formula, not an assertion
HOLDS = "holds"
NONE_SEEN = "none seen"  # from a search that stores some bits of each state
GOOD_HASH_FACTOR = 10  # with less, the result of a search by bits means too little
INCOMPLETE = "INCOMPLETE"


@dataclasses.dataclass(frozen=True)
class Configuration:
    name: str
    defines: tuple
    expect: str = HOLDS  # or the property that must be violated
    least_states: int = 0
    hash_bits: int = 20
    depth: int = 300_000
    optimise: str = "-O1"
    memory_mib: int = 2_000
    seconds: int = 120
    model: str = LEASE
    live: bool = False
    fair: bool = True  # a process that can act for ever acts in the end
    bits: bool = False  # stores only some bits of each state


def holds(name, *defines, **more):
    return Configuration(name, defines, **more)


def mutant(name, expect, *defines):
    """Checks only the property that it must violate; otherwise another one might be violated first."""
    return Configuration(name, (name, f"ONLY={PROPERTIES.index(expect) + 1}", *defines), expect, optimise="-O0")


def lives(name, *defines, **more):
    return Configuration(name, ("LIVE=1", "CALM=1", *defines), live=True, **more)


def never_leads(name, *defines, **more):
    """A rule is removed so that nobody may lead for ever; without assertions, because one of them might fail first."""
    return lives(name, f"ONLY={len(PROPERTIES) + 1}", *defines, expect=LIVENESS, optimise="-O0", **more)


def none_seen(name, *defines, **more):
    return Configuration(name, ("CANDIDATES=3", *defines), NONE_SEEN, bits=True, **more)


def of_three(name, switch, *defines):
    """The search by bits finds what it must find."""
    return Configuration(name, (switch, "ONLY=1", "CANDIDATES=3", *defines), "MUTUAL_EXCLUSION", optimise="-O0", bits=True,
                         hash_bits=28)


def database_mutant(name):
    return Configuration(name, (name,), "ONE_BELIEVER", optimise="-O0", model=DATABASE)


# Parts of the model that can be switched off; each one multiplies the number of states.
NO_WRITES, NO_DELETIONS, NO_CRASHES = "WRITES=0", "DELETIONS=0", "CRASHES=0"
NO_LATE_REQUESTS, NO_DRAIN_TIMEOUT = "LATES=0", "DRAINOUTS=0"
DELETED = (NO_LATE_REQUESTS, NO_WRITES, NO_CRASHES, NO_DRAIN_TIMEOUT)
LENGTHENED = DELETED
ANOTHER_MAKE = ("LEASE=2", *DELETED)
LEASE_ONLY = (NO_WRITES, NO_DELETIONS, NO_CRASHES, NO_DRAIN_TIMEOUT)
TWO_LENGTHS = ("LENGTHENS=1", NO_LATE_REQUESTS, *LEASE_ONLY)
LOST = (NO_LATE_REQUESTS, NO_WRITES, NO_DRAIN_TIMEOUT)
LOCKS = ("ONETERM=1", NO_LATE_REQUESTS, NO_WRITES, NO_DELETIONS, NO_CRASHES)
QUICK = ("SKEW=0", NO_LATE_REQUESTS, *LEASE_ONLY)
THREE = ("LEASE=2", NO_LATE_REQUESTS, *LEASE_ONLY)

SMALL = (
    holds("equal clocks need no guard", "SKEW=0", "GUARD=0", NO_LATE_REQUESTS, *LEASE_ONLY),
    holds("skew and guard, late requests", *LEASE_ONLY),
    holds("downstream writes and their fence", NO_LATE_REQUESTS, NO_DELETIONS, NO_CRASHES, NO_DRAIN_TIMEOUT),
    holds("deleted records, calm after faults", "CALM=1", NO_LATE_REQUESTS, NO_WRITES, NO_DRAIN_TIMEOUT),
    holds("a release ends the open term", "RELEASES=1", NO_LATE_REQUESTS, NO_WRITES, NO_DRAIN_TIMEOUT),
    holds("a release removes the record", "RELEASES=2", NO_LATE_REQUESTS, NO_WRITES, NO_DRAIN_TIMEOUT),
    holds("leases made longer, deleted records", "LENGTHENS=1", *LENGTHENED),
    holds("another make, deleted records", "FOREIGN=1", *ANOTHER_MAKE),
    holds("leases made longer and shorter", "SHORTENS=1", *TWO_LENGTHS),
    holds("leases of either length", "EITHER=1", *TWO_LENGTHS),
    holds("a lost counter", "LOSES=1", "LEASE=2", *LOST),
    holds("candidacies of one term", *LOCKS),
    holds("one term, one look, a dead holder", "CALM=1", "DIES=1", NO_DRAIN_TIMEOUT, *LOCKS),
    lives("somebody leads at last", "DIES=1", "BACKOFF=1", *QUICK),
    holds("deleted databases", model=DATABASE),
)


def without(name, expect, *defines):
    return Configuration(name, (*defines, f"ONLY={PROPERTIES.index(expect) + 1}"), expect, optimise="-O0")


# An assumption is removed, not a rule: this shows why it is needed.
NEGATIVE = (
    without("skew without guard", "MUTUAL_EXCLUSION", "GUARD=0", NO_LATE_REQUESTS, *LEASE_ONLY),
    without("record and counter lost together", "MUTUAL_EXCLUSION", "LOSES=2", *LOST),
    without("no memory of tokens is left", "TOKENS_RISE", "LOSES=2", *LOST),
)
MUTANTS = (
    # time
    mutant("COUNT_FROM_REPLY", "MUTUAL_EXCLUSION", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("WAIT_FROM_SEND", "MUTUAL_EXCLUSION", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("WAIT_NOT_RESTARTED", "MUTUAL_EXCLUSION", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("NO_DEADLINE_FIRST", "NO_REVIVAL", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("BELIEF_IS_A_FLAG", "MUTUAL_EXCLUSION", NO_LATE_REQUESTS, *LEASE_ONLY),
    # writes without an answer
    mutant("UNANSWERED_IS_SUCCESS", "MUTUAL_EXCLUSION", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("UNANSWERED_IS_FAILURE", "STABLE_LEADER", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("ADOPT_FROM_READ", "MUTUAL_EXCLUSION", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("PROVEN_COUNTS_FROM_NOW", "MUTUAL_EXCLUSION", *LEASE_ONLY),
    # conditions
    mutant("RENEW_UNCONDITIONAL", "NO_EARLY_TAKEOVER", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("RELEASE_UNCONDITIONAL", "NO_EARLY_TAKEOVER", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("TAKEOVER_UNCONDITIONAL", "NO_EARLY_TAKEOVER", NO_LATE_REQUESTS, *LEASE_ONLY),
    # release and deletion
    mutant("RELEASE_FIRST", "RELEASE_AFTER_WORK", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("RELEASE_BEFORE_LOSS", "RELEASE_AFTER_WORK", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("RELEASED_MARK_STAYS", "NO_EARLY_TAKEOVER", NO_LATE_REQUESTS, *LEASE_ONLY),
    mutant("VANISHED_IS_FREE", "MUTUAL_EXCLUSION", *DELETED),
    mutant("OPEN_TERM_UNWRITTEN", "MUTUAL_EXCLUSION", *DELETED),
    mutant("LENGTHENED_IN_RECORD_ONLY", "MUTUAL_EXCLUSION", "LENGTHENS=1", *LENGTHENED),
    mutant("ABSENCE_IS_ENOUGH", "MUTUAL_EXCLUSION", *DELETED),
    mutant("PRUNE_CLEARS", "MUTUAL_EXCLUSION", *DELETED),
    mutant("ANY_FOREIGN_IS_PROOF", "MUTUAL_EXCLUSION", "FOREIGN=1", *ANOTHER_MAKE),
    mutant("ANY_OWN_IS_PROOF", "MUTUAL_EXCLUSION", *DELETED),
    mutant("TERM_BESIDE_OLD_WORK", "ONE_WORK_AT_A_TIME", NO_LATE_REQUESTS, *LEASE_ONLY),
    # tokens and the fence
    mutant("TOKEN_IN_RECORD", "TOKENS_RISE", NO_LATE_REQUESTS),
    mutant("TOKEN_ON_CREATE_ONLY", "TOKENS_RISE", NO_LATE_REQUESTS, NO_DELETIONS),
    mutant("RELEASE_ERASES", "TOKENS_RISE", NO_LATE_REQUESTS, NO_DELETIONS),
    mutant("NO_FENCE", "NO_STALE_WRITE", NO_LATE_REQUESTS, NO_DELETIONS, NO_CRASHES, NO_DRAIN_TIMEOUT),
    # progress
    mutant("WAIT_PER_CALL", "PROGRESS", "CALM=1", NO_LATE_REQUESTS, NO_WRITES, NO_DELETIONS, NO_DRAIN_TIMEOUT),
    mutant("ANSWER_AWAITED_FOR_EVER", "PROGRESS", "CALM=1", NO_LATE_REQUESTS, *LEASE_ONLY),
    # leases of two lengths
    mutant("SHORTENED_TOO_LATE", "MUTUAL_EXCLUSION", "SHORTENS=1", *TWO_LENGTHS),
    mutant("LATER_SHORTER_IGNORED", "MUTUAL_EXCLUSION", "LENGTHENS=1", "SHORTENS=1", *LEASE_ONLY),
    mutant("LENGTHENED_TOO_EARLY", "MUTUAL_EXCLUSION", *TWO_LENGTHS),
    mutant("STATED_LEASE_IGNORED", "MUTUAL_EXCLUSION", "EITHER=1", *TWO_LENGTHS),
    # the counter is lost
    mutant("COUNTER_ALONE", "TOKENS_RISE", "LOSES=1", *LOST),
    mutant("TRACELESS_FROM_ONE", "TOKENS_RISE", "LOSES=1", "FOREIGN=1", "LEASE=2", *LOST),
    # candidacies of one term
    mutant("UNDRAINED_IS_OWN", "MUTUAL_EXCLUSION", *LOCKS),
    mutant("RECALLED_AS_WAITED", "MUTUAL_EXCLUSION", NO_DRAIN_TIMEOUT, *LOCKS),
    mutant("LEFT_IS_STILL_THERE", "NO_EARLY_TAKEOVER", NO_DRAIN_TIMEOUT, *LOCKS),
    mutant("MEMORY_FORGOTTEN", "PROGRESS", "CALM=1", "DIES=1", NO_DRAIN_TIMEOUT, *LOCKS),
    # progress in the end
    never_leads("CONFLICT_IS_NO_LOOK", "CONFLICT_IS_NO_LOOK", *QUICK),
    never_leads("BACKOFF_WITHOUT_END", "BACKOFF_WITHOUT_END", "BACKOFF=1", *QUICK),
    # the whole database
    *map(database_mutant, ("MADE_WITHOUT_WAIT", "MADE_WITHOUT_LOCK", "MARK_IGNORED", "SINCE_BEFORE_LOOK",
                           "BEACONS_BEFORE_LOOK", "BEACON_IGNORED", "LENGTHENED_BEFORE_STATED", "ELECTED_WITHOUT_LOOK",
                           "RENEWED_WITHOUT_LOOK")),
)
BIG = {"optimise": "-O3", "hash_bits": 27, "depth": 8_000_000, "memory_mib": 10_000, "seconds": 3600}
BITS = {"optimise": "-O2", "hash_bits": 33, "depth": 3_000_000, "memory_mib": 6_000, "seconds": 900}
FULL = (
    holds("lease of 4 ticks, no downstream writes", "LEASE=4", NO_WRITES, least_states=8_000_000, **BIG),
    holds("lease of 2 ticks, everything", "LEASE=2", least_states=7_000_000, **BIG),
    holds("lease of 3 ticks, calm after faults", "CALM=1", NO_WRITES, NO_DELETIONS, least_states=1_000_000, **BIG),
    holds("longer and shorter, late requests", "LENGTHENS=1", "SHORTENS=1", *LEASE_ONLY, least_states=2_000_000, **BIG),
    holds("a lost counter, another make", "LOSES=1", "FOREIGN=1", "LEASE=2", *LOST, least_states=2_000_000, **BIG),
    lives("somebody leads at last, skew", "DIES=1", "BACKOFF=1", NO_LATE_REQUESTS, *LEASE_ONLY, least_states=200_000, **BIG),
    holds("three candidates, lease of 2 ticks", "CANDIDATES=3", *THREE, least_states=500_000, **BIG),
    none_seen("three candidates, lease of 3 ticks", NO_LATE_REQUESTS, *LEASE_ONLY, **BITS),
    of_three("three, skew without guard", "GUARD=0", NO_LATE_REQUESTS, *LEASE_ONLY),
    of_three("three, COUNT_FROM_REPLY", "COUNT_FROM_REPLY", NO_LATE_REQUESTS, *LEASE_ONLY),
    holds("deleted databases, lease of 5 ticks", "LEASE=5", model=DATABASE, **BIG),
    holds("deleted databases, three candidates", "CANDIDATES=3", model=DATABASE, **BIG),
)


class CannotRun(Exception):
    """A tool is missing or failed; this says nothing about the model."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    verdict: str  # HOLDS, the name of a property, or INCOMPLETE
    detail: str = ""
    states: int = 0
    depth: int = 0
    cpu_seconds: float = 0.0
    memory_mib: float = 0.0
    hash_factor: float = 0.0


ERRORS = ("max search depth too small", "out of memory", "Search not completed", "MEMLIM", "search interrupted",
           "resize hashtable", "aborting", "hash table full", "hashtable full", "internal error")


def number(pattern, text):
    found = re.findall(pattern, text, re.M)
    return float(found[0]) if len(found) == 1 else None


def judge_formula(text, violated, fair):
    """The output's result for the formula: its name, HOLDS, or None if the search was not the required one."""
    searched = f"+ ({LIVENESS})" in text and re.search(r"^\s*acceptance\s+cycles\s*\+", text, re.M)
    if not searched or ("(fairness enabled)" in text) != fair:
        return None
    if not violated:
        return HOLDS
    return LIVENESS if len(violated) == 1 and violated[0] == "acceptance cycle" else None


def judge(text, exit_code, configuration=Configuration("", ())):
    """The result in the checker's output. Output that does not look exactly as it must is no success."""
    errors = number(r"^State-vector .*\berrors: (\d+)\s*$", text)
    states = number(r"^\s*([\d.e+]+) states, stored", text)
    depth = number(r"\bdepth reached (\d+),", text)
    memory = number(r"^\s*([\d.]+)\s+total actual memory usage", text)
    seconds = number(r"^pan: elapsed time ([\d.e+]+) seconds", text)
    factor = number(r"^hash factor: ([\d.e+]+)", text)
    figures = (int(states or 0), int(depth or 0), seconds or 0.0, memory or 0.0, factor or 0.0)
    kind = "Bit" if configuration.bits else "Full"
    if exit_code != 0:
        return Outcome(INCOMPLETE, f"the checker ended with code {exit_code}", *figures)
    if errors is None or not states or depth is None:
        return Outcome(INCOMPLETE, "the checker did not sum up", *figures)
    violated = re.findall(r"^pan:\d+: (.*?) \(at depth \d+\)", text, re.M)
    error = [t for t in ERRORS if t in text]
    if errors == 0:
        if violated or error:
            return Outcome(INCOMPLETE, "; ".join(violated + error), *figures)
        if f"{kind} statespace search for" not in text or not re.search(r"^\s*assertion violations\s*\+", text, re.M):
            return Outcome(INCOMPLETE, "the search was not a full one with assertions", *figures)
        if configuration.live and judge_formula(text, violated, configuration.fair) != HOLDS:
            return Outcome(INCOMPLETE, "the search did not look for cycles as it had to", *figures)
        if configuration.bits and (factor is None or factor < GOOD_HASH_FACTOR):
            return Outcome(INCOMPLETE, f"the hash factor is {factor}, too small to say anything", *figures)
        return Outcome(NONE_SEEN if configuration.bits else HOLDS, "", *figures)
    if configuration.live and errors == 1 and "max search depth" not in text:
        if judge_formula(text, violated, configuration.fair) == LIVENESS:
            return Outcome(LIVENESS, "", *figures)
    if errors == 1 and len(violated) == 1 and violated[0].startswith("assertion violated"):
        named = [p for p in (*PROPERTIES, *DATABASE_PROPERTIES) if re.search(rf"\b{p}\b", violated[0])]
        if len(named) == 1 and "max search depth" not in text:
            return Outcome(named[0], "", *figures)
    return Outcome(INCOMPLETE, "; ".join(violated + error) or f"{int(errors)} errors, none told", *figures)


def tool(command, cwd, what):
    try:
        result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    except OSError as fault:
        raise CannotRun(f"{what}: {fault}") from None
    if result.returncode != 0:
        raise CannotRun(f"{what} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def put_parts(configuration, directory):
    for part in LEASE_PARTS if configuration.model == LEASE else (DATABASE,):
        shutil.copy(MODELS / part, directory)


def build(configuration, directory, extra=()):
    """Where ccache is installed it keeps the compiled checkers: without a path of this tree in them."""
    spin, compiler = shutil.which("spin"), shutil.which("gcc") or shutil.which("cc")
    if not spin or not compiler:
        missing = "spin" if not spin else "a C compiler"
        raise CannotRun(f"{missing} is not installed; scripts/setup installs it (package: spin, gcc)")
    put_parts(configuration, directory)
    defines = [f"-D{d}" for d in configuration.defines]
    told = tool([spin, "-a", *defines, *extra, configuration.model], directory, "spin")
    if "error" in told.lower():
        raise CannotRun(f"spin does not understand the model:\n{told}")
    flags = ["-w", configuration.optimise, "-DNOREDUCE", f"-DMEMLIM={configuration.memory_mib}"]
    flags += [] if configuration.live else ["-DSAFETY", "-DNOFAIR"]
    flags += ["-DBITSTATE"] if configuration.bits else []
    if extra:
        flags += ["-DBFS"]  # the shortest path first
    cached = [name for name in ("ccache",) if shutil.which(name)]
    tool([*cached, compiler, *flags, "-c", "-o", "pan.o", "pan.c"], directory, "the C compiler")
    tool([compiler, "-o", "pan", "pan.o"], directory, "the C compiler")


def check(configuration):
    with tempfile.TemporaryDirectory(prefix="tenure-model-") as directory:
        build(configuration, directory)
        command = ["./pan", "-n", f"-m{configuration.depth}", f"-w{configuration.hash_bits}"]
        command += ["-a"] + (["-f"] if configuration.fair else []) if configuration.live else []
        try:
            result = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False,
                                    timeout=configuration.seconds)
        except subprocess.TimeoutExpired:
            return Outcome(INCOMPLETE, f"not done in {configuration.seconds} s")
        return judge(result.stdout + result.stderr, result.returncode, configuration)


STEP = re.compile(r"^\s*(\d+):\s+proc\s+(\d) \((\w+):\d\) \S+\.pml:(\d+) \(state \d+\)", re.M)


def trace(configuration):
    """The steps of the shortest violation, as lines of the model."""
    path = MODELS / configuration.model
    with tempfile.TemporaryDirectory(prefix="tenure-model-") as directory:
        build(configuration, directory, ("-DBREADTH_FIRST",))
        tool(["./pan", "-n", f"-m{configuration.depth}", f"-w{configuration.hash_bits}"], directory, "the checker")
        if not (pathlib.Path(directory) / f"{configuration.model}.trail").exists():
            print("no violation, so there is no way to it")
            return 1
        defines = [f"-D{d}" for d in configuration.defines]
        replay = subprocess.run([shutil.which("spin"), "-t", "-p", *defines, "-DBREADTH_FIRST", configuration.model],
                                cwd=directory, capture_output=True, text=True, check=False).stdout
    source = path.read_text(encoding="utf-8").splitlines()  # for the steps; the names in them tell their parts
    seen = set()
    for number, process, name, at in STEP.findall(replay):
        if number not in seen:  # the first line of a step is its guard
            seen.add(number)
            who = f"candidate {process}" if name == "Candidate" else "world"
            print(f"{number:>3}  {who:<12} {source[int(at) - 1].strip()}")
    print(f"violated: {configuration.expect}")
    return 0


def is_as_expected(configuration, outcome):
    return outcome.verdict == configuration.expect and outcome.states >= configuration.least_states


def line(configuration, outcome):
    good = is_as_expected(configuration, outcome)
    verdict = outcome.verdict if outcome.verdict in (HOLDS, NONE_SEEN, INCOMPLETE) else f"violated: {outcome.verdict}"
    if not good:
        verdict += f"   UNEXPECTED, must be: {configuration.expect}"
        if configuration.least_states > outcome.states:
            verdict += f" with {configuration.least_states:,} states at least"
        verdict += f" ({outcome.detail})" if outcome.detail else ""
    if configuration.bits and outcome.hash_factor:
        verdict += f"; hash factor {outcome.hash_factor:,.0f}"
    return (f"{configuration.name:<40} {outcome.states:>12,} {outcome.depth:>10,} {outcome.cpu_seconds:>8.2f} "
            f"{outcome.memory_mib:>9,.0f}  {verdict}")


def keep_figures(path, outcomes, wrong):
    """For scripts/evidence."""
    whole = [(c, o) for c, o in outcomes if c.expect == HOLDS]
    held = [(c, o) for c, o in outcomes if c.expect in (HOLDS, NONE_SEEN)]
    broken = [(c, o) for c, o in outcomes if c.expect not in (HOLDS, NONE_SEEN)]
    figures = {"states_explored": sum(o.states for _, o in whole), "mutants_and_negatives_run": len(broken),
               "mutants_and_negatives_violated": sum(is_as_expected(c, o) for c, o in broken), "unexpected": len(wrong)}
    for name in sorted({c.expect for c, _ in broken}):  # how many mutants showed each property
        runs = [is_as_expected(c, o) for c, o in broken if c.expect == name]
        figures[f"negatives of {name}"] = f"{len(runs)} run, {sum(runs)} found"
    figures |= {c.name: {"verdict": o.verdict, "states": o.states, "depth": o.depth, "seconds": round(o.cpu_seconds, 1),
                         "MiB": round(o.memory_mib)} | ({"hash_factor": round(o.hash_factor)} if c.bits else {})
                for c, o in held}
    pathlib.Path(path).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def run(configurations, jobs, keep=None):
    print(f"{'configuration':<40} {'states':>12} {'depth':>10} {'seconds':>8} {'MiB':>9}  verdict", flush=True)
    started, wrong, outcomes = time.monotonic(), [], []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for configuration, outcome in zip(configurations, pool.map(check, configurations)):
            print(line(configuration, outcome), flush=True)
            outcomes.append((configuration, outcome))
            if not is_as_expected(configuration, outcome):
                wrong.append(configuration.name)
    if keep:
        keep_figures(keep, outcomes, wrong)
    broken = [c.name for c in configurations if c.expect not in (HOLDS, NONE_SEEN)]
    if broken:
        print(f"{len(broken)} mutants and negatives run, {sum(name not in wrong for name in broken)} found")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(configurations)} runs, {len(wrong)} unexpected; {time.monotonic() - started:.1f} s, "
          f"{used.ru_utime + used.ru_stime:.1f} s of processor time")
    return 1 if wrong else 0


def all_configurations():
    return {c.name: c for c in (*SMALL, *NEGATIVE, *MUTANTS, *FULL)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", action="append", metavar="NAME", choices=list(all_configurations()), default=[])
    parser.add_argument("--trace", metavar="NAME", choices=[c.name for c in (*NEGATIVE, *MUTANTS) if not c.live])
    parser.add_argument("--json", metavar="FILE", help="write the figures here")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="runs at a time; default: 2")
    options = parser.parse_args()
    if options.list:
        for c in all_configurations().values():
            print(f"{c.name:<40} {' '.join(c.defines):<60} {c.expect}")
        return 0
    chosen = [all_configurations()[name] for name in options.only]
    chosen += [*SMALL, *NEGATIVE, *MUTANTS] if options.small else []
    chosen += FULL if options.full else []
    if not chosen and not options.trace:
        parser.error("say --small, --full, --only NAME or --trace NAME")
    try:
        return trace(all_configurations()[options.trace]) if options.trace else run(chosen, options.jobs, options.json)
    except CannotRun as fault:
        print(f"run_model: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
