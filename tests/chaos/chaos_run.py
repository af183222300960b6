"""The director of scripts/chaos, which has the help text."""

import argparse
import os
import pathlib
import random
import shlex
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import faults
import processes
from fleet import Fleet, Timing
from processes import now
from report import Report
from stores import STORES
from verdict import SECOND, Verdict

CANDIDATES = 5
# The rows' job writes often. The set's job waits up to this time between its read and write, so that a pause hits it
# there.
STEP_MS = {"mix": 20, "jepsen": 100}


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/chaos", add_help=False)
    parser.add_argument("--candidate", required=True)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--store", choices=list(STORES), default="sqlite")
    parser.add_argument("--workload", choices=["mix", "jepsen"], default="mix")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--faults", default="")
    parser.add_argument("--out", type=pathlib.Path, default=None)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    if not 0.1 <= options.minutes <= 10_000:
        parser.error("--minutes takes 0.1 to 10000")
    if options.workload == "jepsen" and options.faults:
        parser.error("--workload jepsen has a fault of its own: a pause of the leader each 5 s")
    options.faults = [name for name in options.faults.split(",") if name] or faults.kinds_for(options.store)
    for name in options.faults:
        if name not in faults.kinds_for(options.store):
            parser.error(f'no fault "{name}" on {options.store}; there are: {", ".join(faults.kinds_for(options.store))}')
    return options


def without_the_impossible(names):
    """Reports what this machine cannot do, and leaves it out."""
    possible = []
    for name in names:
        reason = faults.KINDS[name]().why_not()
        if reason:
            print(f"  left out: {name}: {reason}", flush=True)
        else:
            possible.append(name)
    return possible


class Progress:
    """One line that is updated on a terminal; elsewhere one line every 30 s."""

    def __init__(self, fleet, seconds):
        self._fleet, self._seconds = fleet, seconds
        self._live = sys.stdout.isatty()
        self._refused = self._done = 0
        self._next = time.monotonic() + (0 if self._live else 30)
        fleet.on_event = self._take

    def _take(self, _, event):
        self._refused += event["e"] == "refused"

    def show(self, passed):
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + (0.2 if self._live else 30)
        who = self._fleet.leader.name if self._fleet.leader and self._fleet.leader.process.term() else "nobody"
        last = self._fleet.faults[-1] if self._fleet.faults else None
        text = (f"  {passed:5.0f} of {self._seconds:.0f} s  {len(self._fleet.faults)} faults, token {self._fleet.token}, "
                f"{who} leads, {self._refused} stale writes refused")
        if self._live:
            text += f"; last: {last['what']} {last['candidate'] or ''}" if last else ""
            print("\r\x1b[2K" + text[:shutil.get_terminal_size().columns - 1], end="", flush=True)
        else:
            print(text, flush=True)

    def end(self):
        if self._live:
            print("\r\x1b[2K", end="", flush=True)


def torment(fleet, schedule, seconds):
    """The number of entries of the schedule that could not be carried out."""
    skipped, pending = 0, list(schedule)
    progress = Progress(fleet, seconds)
    began = now()
    while (passed := (now() - began) / SECOND) < seconds:
        while pending and pending[0]["at"] <= passed:
            skipped += not faults.carry_out(fleet, pending.pop(0))
        fleet.tick()
        progress.show(passed)
        time.sleep(0.01)
    progress.end()
    return skipped


def command_of(options):
    words = ["scripts/chaos", "--minutes", f"{options.minutes:g}", "--store", options.store, "--seed", str(options.seed)]
    if options.workload != "mix":
        words += ["--workload", options.workload]
    elif sorted(options.faults) != sorted(faults.kinds_for(options.store)):
        words += ["--faults", ",".join(options.faults)]
    return shlex.join(words)


def perform(options, directory):
    seconds = options.minutes * 60
    timing = Timing()
    names = without_the_impossible(options.faults) if options.workload == "mix" else []
    schedule = faults.plan(options.seed, seconds, names, timing.lease_s) if options.workload == "mix" else \
        faults.jepsen_plan(options.seed, seconds, timing.lease_s)
    store = STORES[options.store].of_a_run(directory, options.seed)
    try:
        with Fleet(store, CANDIDATES, timing, job="rows" if options.workload == "mix" else "set",
                   step_ms=STEP_MS[options.workload], directory=directory) as fleet:
            fleet.start()
            broken_off = None
            try:
                skipped = torment(fleet, schedule, seconds)
            except (RuntimeError, TimeoutError) as fault:
                skipped, broken_off = 0, str(fault)
            run = fleet.end()
            settings = {"command": command_of(options), "store": options.store, "workload": options.workload,
                        "seed": options.seed, "minutes": options.minutes, "lease_s": timing.lease_s,
                        "heartbeat_s": timing.heartbeat_s, "candidates": CANDIDATES,
                        "longest_vacancy_allowed_s": timing.longest_vacancy_s()}
            verdict = Verdict(run)
            if broken_off:
                verdict.faults.append(f"the run was broken off: {broken_off}")
            if not run.fenced_rows and not run.sets.get("fenced"):
                verdict.faults.append("nothing was written behind the fence: the run has shown nothing")
            return Report(settings, run, verdict, fleet.faults, skipped, schedule,
                          [c.name for c in fleet.candidates])
    finally:
        store.close()


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("scripts/chaos: ended from outside"))
    os.environ[processes.PROGRAM] = options.candidate
    out = options.out or pathlib.Path("build") / "chaos" / f"{options.store}-{options.workload}-{options.seed}"
    work = out / "files"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    print(f"Again: {command_of(options)}", flush=True)
    try:
        report = perform(options, work.resolve())
    except (RuntimeError, TimeoutError) as fault:
        sys.exit(f"scripts/chaos: {fault}; the logs: {work}")
    report.write(out)
    print()
    print(report.markdown())
    failed = bool(report.verdict.faults)
    # Logs and ledgers help to find the reason of a failure.
    if not failed and not options.keep:
        shutil.rmtree(work)
    print(f"The picture: {out / 'timeline.html'}" + (f"; the logs: {work}" if work.exists() else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
