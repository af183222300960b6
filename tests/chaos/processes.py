"""A candidate of the chaos tests, and its processes one after the other."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "scripts"), str(ROOT / "tests/support")]
import dynamodb_server
import proc
import verdict

PROGRAM = "TENURE_CHAOS_CANDIDATE"


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Running:
    """One process."""

    def __init__(self, name, number, command, directory, environment, clock_offset_s=0):
        self.name, self.number = name, number
        self.events_path = directory / f"{name}.{number}.events"
        self.log_path = directory / f"{name}.{number}.log"
        self.events, self._read, self._ready = [], 0, False
        self.started, self.ended, self.how = now(), None, None
        self.expected_end = signal.SIGKILL
        self.frozen_by = None  # the fault that stopped it, if it stands still
        self.frozen_since = None
        command = [str(self.events_path) if word == "EVENTS" else word for word in command]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment, preexec_fn=dynamodb_server.die_with_parent)
        self._clock_offset = clock_offset_s * verdict.SECOND
        self.pid = self._program_below() if clock_offset_s else self.process.pid
        self.pidfd = os.pidfd_open(self.pid)

    def __str__(self):
        return f"{self.name}.{self.number}"

    def _program_below(self):
        """The candidate's own process, if another program had to start it."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.process.poll() is None:
            children = proc.children(self.process.pid)
            if children:
                return children[0]
            time.sleep(0.001)
        raise RuntimeError(f"{self} did not start: {self.log_path.read_text(errors='replace')}")

    def is_alive(self):
        return self.how is None

    def is_ready(self):
        return self._ready

    def poll(self):
        """New complete lines of its event log; notices when the process has ended."""
        gone = self.is_alive() and self.process.poll() is not None
        new = []
        try:
            with open(self.events_path, "rb") as file:
                file.seek(self._read)
                data = file.read()
            end = data.rfind(b"\n") + 1
            self._read += end
            new = [json.loads(line) for line in data[:end].splitlines()]
        except FileNotFoundError:
            pass
        for event in new if self._clock_offset else ():
            event.update({clock: event[clock] - self._clock_offset for clock in ("t", "u") if clock in event})
        for event in new:
            self._keep(event)
        if gone:
            self._note_end()
        return new

    def _keep(self, event):
        """Of consecutive claims with one token only the first and the last matter; there are many of them."""
        self._ready |= event["e"] == "started"  # it may have been elected, and have claimed so, before it tells this
        last = self.events[-2:]
        if event["e"] == "led" and len(last) == 2 and all(e["e"] == "led" and e["token"] == event["token"] for e in last):
            self.events[-1] = {**event, "n": last[1].get("n", 1) + 1}
        else:
            self.events.append(event)

    def _note_end(self):
        self.ended = now()
        code = self.process.returncode
        if code in (-signal.SIGKILL, -self.expected_end):
            self.how = "killed"
        elif code == 0 and any(e["e"] == "stopped" for e in self.events[-3:]):
            self.how = "stopped"
        elif code == -signal.SIGTERM and not self.is_ready():
            self.how = "stopped"  # it was stopped before it could handle signals
        else:
            self.how = "died"

    def close(self):
        """Not when the process ends: a storm of signals may still be under way, and the descriptor's number must not be
        reused."""
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None

    def send(self, number):
        """Uses the descriptor, so a signal never goes to another process that got the same process id."""
        if self.is_alive() and self.pidfd is not None:
            try:
                signal.pidfd_send_signal(self.pidfd, number)
            except ProcessLookupError:
                pass

    def stop_now(self):
        """Sends SIGSTOP, and returns when it stands still."""
        self.send(signal.SIGSTOP)
        deadline = time.monotonic() + 10
        while self.process.poll() is None and proc.state(self.pid) != "T" and time.monotonic() < deadline:
            time.sleep(0.0005)

    def term(self):
        """The token under which it leads, by its last event."""
        for event in reversed(self.events):
            if event["e"] == "elected":
                return event["token"]
            if event["e"] == "revoked":
                return None
        return None

    def knows(self, token):
        return any(e["e"] in ("follows", "elected") and e["token"] >= token for e in reversed(self.events))

    def told(self, what, since=0):
        return [e for e in self.events if e["e"] == what and e["t"] >= since]

    def judged(self):
        why = ""
        if self.how == "died":
            log = self.log_path.read_text(errors="replace").strip().splitlines()
            why = f"exit code {self.process.returncode}; its log ends with: {' / '.join(log[-3:])}"
        return verdict.Process(self.name, self.number, self.started, self.ended or now(), self.how or "killed",
                               self.events, why)


class Candidate:
    """A name in the group, and its processes. `environment`: additional variables for its processes; `prefix`: the
    command that starts them; `clock_offset_s`: how far CLOCK_BOOTTIME is ahead in their time namespace."""

    def __init__(self, name, config, directory, job, step_ms, environment=None, prefix=(),
                 clock_offset_s=0):
        self.name = name
        self.config = config
        self._directory, self._job, self._step_ms = directory, job, step_ms
        self._environment, self._prefix = environment or {}, list(prefix)
        self._clock_offset_s = clock_offset_s
        self.processes = []
        self.restart_at = None

    @property
    def process(self):
        return self.processes[-1]

    def start(self):
        self.restart_at = None
        if len(self.processes) > 1:
            self.processes[-2].close()
        number = len(self.processes) + 1
        command = [*self._prefix, os.environ[PROGRAM], str(self.config), str(self._directory), f"{self.name}.{number}",
                   "EVENTS", self._job, str(self._step_ms)]
        environment = {**os.environ, "CHAOS_CANDIDATE": self.name, **self._environment}
        self.processes.append(Running(self.name, number, command, self._directory, environment,
                                      self._clock_offset_s))
