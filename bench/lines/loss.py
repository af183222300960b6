#!/usr/bin/env python3
"""Counts the terms that are lost on a line that loses packets, for `tenure` and for AWS's Java lock client. Both run at the
same time on the same line, each with locks of its own.

    scripts/bench lines                   # 10 %, 30 % and 50 % for a minute each
    scripts/bench lines --long            # for ten minutes each

A term counts as lost when its holder itself says that it does not hold the lock any more. A client that leads seldom has
few terms to lose, so the share of the time that it led is printed as well. Exit code 0: `tenure` lost none at 30 % and
less, and no more than Java above that.
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "interop"), str(HERE.parents[1] / "scripts")]
import dynamodb_server
import peers
from line import Line, Unavailable

TABLE = "lines"
YAML = """group: {name}
candidate: {{ id: {name} }}
lease: {{ duration: {lease}ms, heartbeat: {heartbeat}ms }}
store: {{ type: dynamodb, table: lines, region: us-east-1, endpoint: "{endpoint}" }}
"""
JOB = 'echo elected; trap "echo ended; kill $!; exit 0" TERM; sleep 100000 & wait'


class Holder:
    """A process that wants one lock for ever. Lines with the words `begins` and `ends` show the start and end of a term."""

    def __init__(self, command, environment, directory, name, begins, ends):
        self._words = (begins, ends)
        self._lock = threading.Lock()
        self.begins = self.lost = 0
        self.led = 0.0
        self._since = None
        self._log = open(directory / f"{name}.log", "wb")
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self._log, text=True, start_new_session=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            now = time.monotonic()
            with self._lock:
                if self._words[0] in line:
                    self._over(now)  # the process did not report the end of the term before
                    self.begins += 1
                    self._since = now
                elif self._words[1] in line:
                    self._over(now)

    def _over(self, now):
        if self._since is None:
            return
        self.lost += 1
        self.led += now - self._since
        self._since = None

    def figures(self):
        """(terms lost, seconds led) so far."""
        with self._lock:
            return self.lost, self.led + (time.monotonic() - self._since if self._since else 0.0)

    def leads(self):
        with self._lock:
            return self._since is not None

    def close(self):
        self.process.kill()
        self.process.wait()
        self._log.close()


def make_holders(line, options, environment, directory):
    java = [*line.prefix(), *peers.java(), "lead", line.endpoint, TABLE]
    for n in range(options.locks):
        name = f"tenure{n}"
        path = directory / f"{name}.yaml"
        path.write_text(YAML.format(name=name, lease=options.lease, heartbeat=options.heartbeat, endpoint=line.endpoint))
        yield "tenure", Holder([*line.prefix(), options.tenure, "run", "--config", path, "--", "sh", "-c", JOB], environment,
                               directory, name, "elected", "ended")
        name = f"java{n}"
        yield "Java", Holder([*java, name, name, str(options.lease), str(options.heartbeat)], environment, directory, name,
                             '"acquired"', '"expired"')


def await_all(holders):
    deadline = time.monotonic() + 60
    while not all(holder.leads() for _, holder in holders):
        if time.monotonic() > deadline:
            raise Unavailable("not everybody holds its lock on a line without loss")
        time.sleep(0.1)


def measure(options):
    """{percent: {"tenure": [lost, seconds led], "Java": ...}}"""
    figures = {}
    with contextlib.ExitStack() as stack:
        line = stack.enter_context(Line())
        directory = pathlib.Path(options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="tenure-lines.")))
        environment = dynamodb_server.environment(line.endpoint)
        dynamodb_server_table(line)
        holders = list(make_holders(line, options, environment, directory))
        for _, holder in holders:
            stack.callback(holder.close)
        for percent in options.loss:
            line.lose(0)
            await_all(holders)
            before = [holder.figures() for _, holder in holders]
            line.lose(percent / 100)
            time.sleep(options.rounds)
            seen = {}
            for (side, holder), (lost, led) in zip(holders, before):
                now = holder.figures()
                one = seen.setdefault(side, [0, 0.0])
                one[0] += now[0] - lost
                one[1] += now[1] - led
            figures[percent] = seen
            for side, (lost, led) in seen.items():
                share = led / (options.rounds * options.locks)
                print(f"  {percent:3} % lost each way, {options.rounds * options.locks} s of {side:6}: {lost:4} terms lost, led "
                      f"{100 * share:.1f} % of the time", flush=True)
        line.lose(0)
    return figures


def dynamodb_server_table(line):
    """Makes the table from the server's own end, before the line loses anything."""
    done = subprocess.run([*line.prefix(), sys.executable, "-c",
                           f"import sys; sys.path.insert(0, {str(HERE.parents[1] / 'scripts')!r})\n"
                           "import dynamodb_server\n"
                           f"print(dynamodb_server.call({line.endpoint!r}, 'CreateTable', dict(TableName={TABLE!r}, "
                           "BillingMode='PAY_PER_REQUEST', KeySchema=[dict(AttributeName='key', KeyType='HASH')], "
                           "AttributeDefinitions=[dict(AttributeName='key', AttributeType='S')])))"],
                          capture_output=True, text=True, check=False)
    if done.returncode or "(200" not in done.stdout:
        raise Unavailable(f"no table: {done.stdout} {done.stderr}")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench lines", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenure", required=True, help="the program")
    parser.add_argument("--rounds", type=int, default=60, metavar="SECONDS", help="at each loss (default %(default)s)")
    parser.add_argument("--long", action="store_const", const=600, dest="rounds", help="--rounds 600")
    parser.add_argument("--locks", type=int, default=1, help="of each side (default %(default)s)")
    parser.add_argument("--loss", type=int, nargs="+", default=[10, 30, 50], metavar="PERCENT")
    parser.add_argument("--lease", type=int, default=2000)
    parser.add_argument("--heartbeat", type=int, default=500)
    parser.add_argument("--keep", help="a directory for the logs")
    parser.add_argument("--json", help="a file for the figures")
    options = parser.parse_args()
    try:
        figures = measure(options)
    except (Unavailable, dynamodb_server.ToolError) as error:
        print(f"lines: {error}", file=sys.stderr)
        return 1
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    holds = True
    for percent, seen in figures.items():
        bound = 0 if percent <= 30 else seen["Java"][0]
        ok = seen["tenure"][0] <= bound
        holds = holds and ok
        print(f"  {'ok    ' if ok else 'MISSED'} at {percent} %: {seen['tenure'][0]} terms lost, bound {bound}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
