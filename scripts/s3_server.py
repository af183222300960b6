"""An S3 as a child process on this machine: moto's server. It is fetched once with pip, and ends with its parent process.

scripts/s3_local is this module as a command; tests/servers/launcher.py shares one server among the tests of a ctest run.
"""

import contextlib
import os
import pathlib
import select
import signal
import socket
import subprocess
import tempfile
import time

import dynamodb_server
import fetching

REQUIREMENTS = fetching.ROOT / "tests" / "s3" / "requirements.txt"
PROGRAM = fetching.ROOT / "tests" / "s3" / "moto_server.py"
CACHE = fetching.CACHE / "s3-server"
ENDPOINT = "TENURE_TEST_S3"
HIDDEN = ("AWS_",)  # settings of the user, which must have no effect on a test
INSTEAD = f"set {ENDPOINT} to an S3 that runs already"
START_PATIENCE_S = 60

ToolError = fetching.ToolError


def environment(endpoint, base=None):
    """The environment for a command that uses this server. Settings of the user must have no effect on a test."""
    given = dict(os.environ if base is None else base)
    made = dynamodb_server.environment("", given)
    del made[dynamodb_server.ENDPOINT]
    if dynamodb_server.ENDPOINT in given:  # inside of scripts/dynamodb_local: the credentials are the same
        made[dynamodb_server.ENDPOINT] = given[dynamodb_server.ENDPOINT]
    made[ENDPOINT] = endpoint
    return made


def prepare():
    """A python3 with moto, in build/.cache."""
    fetching.cached(CACHE, [REQUIREMENTS], lambda fresh: fetching.make_python(fresh, REQUIREMENTS, INSTEAD))
    return str(CACHE / "bin" / "python")


def answers(endpoint):
    host, port = endpoint.removeprefix("http://").rstrip("/").rsplit(":", 1)
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
        return True
    return False


class Server:
    """A running S3, empty at first. Its data are in memory and end with it."""

    def __init__(self, python):
        self._directory = tempfile.TemporaryDirectory(prefix="tenure-s3.")
        self.log = pathlib.Path(self._directory.name) / "log"
        self.process = None
        try:
            self._start(python)
        except BaseException:
            self.stop()
            raise

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def output(self):
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def _start(self, python):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([python, "-B", str(PROGRAM)], cwd=self._directory.name,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                            env=environment("", {"PATH": os.defpath, "TMPDIR": self._directory.name}),
                                            preexec_fn=dynamodb_server.die_with_parent, start_new_session=True)
        deadline = time.monotonic() + START_PATIENCE_S
        told = b""
        while not told.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(self.process.stdout.fileno(), 100) if ready else b""
            if not piece:
                raise ToolError(f"moto's server did not start in {START_PATIENCE_S} s:\n{self.output().strip()}")
            told += piece
        self.port = int(told)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)  # none of its data are kept, so it need not end in order
            self.process.wait()
        if self.process and self.process.stdout:
            self.process.stdout.close()
        self._directory.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
