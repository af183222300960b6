"""Freezes a process as SIGSTOP does, but between its transactions in SQLite files.

A process that is frozen inside a transaction keeps the write lock. Then nobody else can write to the file, and nobody can be elected
(docs/how-it-works.md#limits).
"""

import contextlib
import os
import signal
import time

PATIENCE_S = 60


def has_write_lock(path, pid):
    """Whether this process has the write lock of an SQLite database, or one on any part of its shared memory."""
    inodes = set()
    for suffix in ("", "-shm"):
        with contextlib.suppress(OSError):
            inodes.add(str(os.stat(f"{path}{suffix}").st_ino))
    # "1: POSIX ADVISORY WRITE 4711 fe:00:1234 120 120". On overlayfs only the inode is what stat() says. The kernel gives a page
    # at a time, and leaves a line out at its end if other processes give up locks meanwhile: so it is read again.
    for _ in range(3):
        with open("/proc/locks", encoding="ascii") as file:
            for fields in map(str.split, file):
                if fields[1] != "->" and fields[3:5] == ["WRITE", str(pid)] and fields[5].rpartition(":")[2] in inodes:
                    return True
    return False


def freeze(pid, databases):
    """Stops this child, at a moment when it has the write lock of none of these databases."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED)
        if not any(has_write_lock(path, pid) for path in databases):
            return
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.002)
    raise TimeoutError(f"process {pid} was always in a transaction")
