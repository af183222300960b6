"""The process that owns a server which all tests of one ctest run share; see shared.py.

The kind of server is defined by a module (`kind` below), which has
    ToolError            an exception with a text for people
    Missing            if there is one: a ToolError that only means that a test is to be skipped
    prepare()          what must be there before a server can start, such as a download; given to Server
    HIDDEN             the beginnings of names in the environment that no test may see
    environment(endpoint, base)  what a test gets: how to reach the server
    Server(prepared)   a context manager with .endpoint (a URL or a file), .process (a Popen) and .output()
    answers(endpoint)  whether something still listens there
"""

import contextlib
import os
import select
import signal
import sys
import time

import shared

STOP_PATIENCE_S = 20
STARTED = "started"


def start(kind, path, ctest):
    """Starts a keeper and waits until its server answers."""
    prepared = kind.prepare()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        # A grandchild in its own session: neither ctest's time limit for this test nor ^C reaches it.
        os.setsid()
        if os.fork() == 0:
            _become_keeper(kind, path, ctest, prepared, writer)
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with open(reader, encoding="utf-8") as pipe:
        answer = pipe.read()
    if answer != STARTED:
        raise kind.ToolError(answer or f"the server's keeper died; see {path}.log")


def _become_keeper(kind, path, ctest, prepared, writer):
    """Never returns. Keeps none of the test's files open except the log: ctest waits until all have closed its
    pipes."""
    code = 1
    try:
        log = os.open(path + ".log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        os.dup2(null, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        # The lock's descriptor, too: a process that waits for the lock must not wait for this process.
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2 and int(name) != writer:
                with contextlib.suppress(OSError):
                    os.close(int(name))
        _keep(kind, path, ctest, prepared, writer)
        code = 0
    except kind.ToolError as error:
        with contextlib.suppress(OSError):
            os.write(writer, str(error).encode())
    except BaseException as fault:  # nobody above this place could report it
        print(f"keeper: {fault!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def _keep(kind, path, ctest, prepared, writer):
    watched = os.pidfd_open(ctest[0])
    asked, ask = os.pipe()
    os.set_blocking(ask, False)
    signal.set_wakeup_fd(ask)
    signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with kind.Server(prepared) as server:
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(shared.state(kind, server.endpoint, os.getpid()))
            os.rename(path + ".new", path)
            os.write(writer, STARTED.encode())
            os.close(writer)
            ends = os.pidfd_open(server.process.pid)
            select.select([watched, asked, ends], [], [])
            if server.process.poll() is not None:
                print(f"the server ended by itself:\n{server.output()}", flush=True)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        if not os.path.getsize(path + ".log"):
            os.unlink(path + ".log")


def stop(kind, running):
    """Ends this ctest run's server, and returns an exit code when the server is gone."""
    if not running:
        print("there is none")
        return 0
    with contextlib.suppress(ProcessLookupError):
        keeper = os.pidfd_open(running.keeper)
        signal.pidfd_send_signal(keeper, signal.SIGTERM)
        if not select.select([keeper], [], [], STOP_PATIENCE_S)[0]:
            print(f"the keeper (process {running.keeper}) has not ended in {STOP_PATIENCE_S} s", file=sys.stderr)
            return 1
    deadline = time.monotonic() + STOP_PATIENCE_S
    while time.monotonic() < deadline:
        if not kind.answers(running.endpoint):
            return 0
        time.sleep(0.02)
    print(f"something still answers at {running.endpoint}", file=sys.stderr)
    return 1
