"""What /proc says of processes. Threads and processes may end at any moment: what has ended is left out."""

import contextlib
import pathlib

GONE = (FileNotFoundError, ProcessLookupError)


def _tasks(pid):
    try:
        return list(pathlib.Path(f"/proc/{pid}/task").iterdir())
    except GONE:
        return []


def threads(pid):
    """The name of each thread, by its number."""
    found = {}
    for task in _tasks(pid):
        with contextlib.suppress(*GONE):
            found[int(task.name)] = (task / "comm").read_text(encoding="ascii").rstrip("\n")
    return found


def children(pid):
    found = []
    for task in _tasks(pid):
        with contextlib.suppress(*GONE):
            found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found


def state(pid):
    """The kernel's letter for it: R, S, T, Z ...; None if it is gone."""
    with contextlib.suppress(*GONE):
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    return None
