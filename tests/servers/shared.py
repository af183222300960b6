"""A server that all tests of one ctest run share: the first test starts it, and it ends with the run.

The first test starts a keeper, a process that owns the server and watches the ctest process by a pidfd. When ctest has
ended, for whatever reason, the keeper ends the server. If the keeper itself is killed, the kernel ends the server. Two
ctest runs have two servers.
"""

import os


def ctest_above():
    """(pid, start time) of the ctest that this process runs under, or None."""
    pid = os.getppid()
    while pid > 1:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            return None
        fields = rest.split()
        if name == "ctest":
            return pid, int(fields[19])
        pid = int(fields[1])
    return None


class ToolError(Exception):
    """What went wrong and what to do, for people."""


class Missing(ToolError):
    """This machine has no such server and is not to get one now: the test is skipped."""


class Running:
    """What a keeper has written of its server: the address and the keeper's process; the beginnings of names that a test
    must not see, such as -PG; and the settings of tests, as NAME=value."""

    def __init__(self, text):
        first, *rest = text.splitlines()
        self.endpoint, pid = first.split()
        self.keeper = int(pid)
        self._hidden = tuple(line[1:] for line in rest if line.startswith("-"))
        self._set = dict(line.split("=", 1) for line in rest if not line.startswith("-"))

    def environment(self, base):
        return {**{name: value for name, value in base.items() if not name.startswith(self._hidden)}, **self._set}


def state_file(directory, ctest):
    return os.path.join(directory, f"server-{ctest[0]}-{ctest[1]}")


def state(kind, endpoint, keeper):
    """The text of a state file."""
    lines = [f"{endpoint} {keeper}", *(f"-{name}" for name in kind.HIDDEN),
             *(f"{name}={value}" for name, value in kind.environment(endpoint, {}).items())]
    return "\n".join(lines) + "\n"


def running(directory, ctest):
    """This ctest run's server, or None."""
    try:
        with open(state_file(directory, ctest), encoding="utf-8") as file:
            return Running(file.read())
    except FileNotFoundError:
        return None


def ensure_server(kind, directory, ctest):
    import fcntl  # imported late: each test uses the code above, and the import would take most of its time
    import keeper
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if not running(directory, ctest):
                keeper.start(kind, state_file(directory, ctest), ctest)
        except kind.ToolError as error:
            missing = isinstance(error, getattr(kind, "Missing", ()))
            raise (Missing if missing else ToolError)(str(error)) from None
        return running(directory, ctest)


def stop(kind, directory, ctest):
    import keeper
    return keeper.stop(kind, running(directory, ctest))
