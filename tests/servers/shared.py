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


def state_file(directory, ctest):
    return os.path.join(directory, f"server-{ctest[0]}-{ctest[1]}")


def running(path):
    """The endpoint of this ctest run's server, or None."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()[0]
    except FileNotFoundError:
        return None


def ensure_server(kind, directory, ctest):
    path = state_file(directory, ctest)
    endpoint = running(path)
    if endpoint:
        return endpoint
    import fcntl  # imported late: each test uses the code above, and the import would take most of its time
    import keeper
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return running(path) or keeper.start(kind, path, ctest)


def stop(kind, directory, ctest):
    import keeper
    return keeper.stop(kind, state_file(directory, ctest))
