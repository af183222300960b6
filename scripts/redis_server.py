"""A Redis of one's own, for the demo and the tests of the examples: with Debian's redis-tools alone."""

import pathlib
import shutil
import subprocess
import time

import dynamodb_server

START_S = 60


class RedisServer:
    """On a socket in its directory. Each answer follows the write to its file."""

    def __init__(self, directory):
        self.socket = str(pathlib.Path(directory, "redis.sock"))
        # redis-tools has no redis-server, but redis-check-rdb is the same program. argv[0] decides what it does.
        self._process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", str(directory), "--save", "", "--appendonly",
             "yes", "--appendfsync", "always", "--loglevel", "warning"],
            executable=shutil.which("redis-check-rdb"), stdout=subprocess.DEVNULL, preexec_fn=dynamodb_server.die_with_parent)
        deadline = time.monotonic() + START_S
        while self._cli("PING").stdout != "PONG\n":
            if time.monotonic() > deadline:
                self.end()
                raise TimeoutError("Redis did not come up")
            time.sleep(0.01)

    def _cli(self, *words):
        return subprocess.run(["redis-cli", "-s", self.socket, *words], capture_output=True, text=True, check=False)

    def ask(self, *words):
        """The lines of the answer."""
        done = self._cli(*words)
        done.check_returncode()
        return done.stdout.rstrip("\n").splitlines()

    def end(self):
        self._process.kill()
        self._process.wait()
