"""Freezes or starves single processes by control groups, version 1 or 2, if this machine and user may do so."""

import contextlib
import os
import pathlib
import time

ROOT = pathlib.Path("/sys/fs/cgroup")


class Unavailable(Exception):
    """Says in one sentence why it is impossible here."""


class Gone(Unavailable):
    """The process or thread has ended."""


def _make(parent, name):
    path = parent / f"tenure-chaos-{os.getpid()}-{time.monotonic_ns()}-{name}"
    try:
        path.mkdir()
    except OSError as fault:
        raise Unavailable(f"no control group can be made in {parent}: {fault.strerror}") from None
    return path


def _write(path, value):
    try:
        path.write_text(str(value), encoding="ascii")
    except ProcessLookupError:
        raise Gone(f"{value} has ended") from None
    except OSError as fault:
        raise Unavailable(f"{path}: {fault.strerror}") from None


class Group:
    """Removes itself at the end of `with`; its processes return to the group of its parent."""

    def __init__(self, controller, name, tasks_file="cgroup.procs"):
        self._v1 = (ROOT / controller / "cgroup.procs").exists()
        self._parent = ROOT / controller if self._v1 else ROOT
        if not (self._parent / "cgroup.procs").exists():
            raise Unavailable(f"no control groups are mounted at {ROOT}")
        self._tasks = tasks_file
        self._members = []
        self.path = _make(self._parent, name)

    def add(self, pid):
        _write(self.path / self._tasks, pid)
        self._members.append(pid)

    def close(self):
        for pid in self._members:
            with contextlib.suppress(Unavailable):  # the process has ended
                _write(self._parent / self._tasks, pid)
        self._members.clear()
        deadline = time.monotonic() + 5
        while self.path.exists() and time.monotonic() < deadline:
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Freezer(Group):
    """`threads`: freezes single threads; version 1 only."""

    def __init__(self, threads=False):
        super().__init__("freezer", "freezer", "tasks" if threads else "cgroup.procs")
        if self._v1:
            return
        if threads or not (self.path / "cgroup.freeze").exists():
            self.close()
            raise Unavailable("this machine's control groups " +
                              ("freeze whole processes only" if threads else "have no freezer"))

    def freeze(self, on=True):
        if self._v1:
            _write(self.path / "freezer.state", "FROZEN" if on else "THAWED")
        else:
            _write(self.path / "cgroup.freeze", int(on))
        deadline = time.monotonic() + 10
        while on and not self._is_frozen() and time.monotonic() < deadline:
            time.sleep(0.001)

    def _is_frozen(self):
        if self._v1:
            return (self.path / "freezer.state").read_text(encoding="ascii").strip() == "FROZEN"
        return "frozen 1" in (self.path / "cgroup.events").read_text(encoding="ascii")

    def close(self):
        if self.path.exists():
            with contextlib.suppress(Unavailable):
                self.freeze(False)
        super().close()


class CpuQuota(Group):
    """At most this percentage of one processor for all its members together, in one piece in each period."""

    def __init__(self, percent, period_us=100_000):
        super().__init__("cpu", "cpu")
        quota = int(period_us * percent / 100)
        try:
            if self._v1:
                _write(self.path / "cpu.cfs_period_us", period_us)
                _write(self.path / "cpu.cfs_quota_us", quota)
            else:
                with contextlib.suppress(Unavailable):  # it is on already, or not allowed: the next line shows which
                    _write(self._parent / "cgroup.subtree_control", "+cpu")
                _write(self.path / "cpu.max", f"{quota} {period_us}")
        except Unavailable:
            self.close()
            raise


def why_not(kind):
    """None if such a group can be made here, else the reason."""
    try:
        kind().close()
        return None
    except Unavailable as fault:
        return str(fault)
