"""Two network namespaces and a line between them that loses packets: a server on one end, candidates on the other.

Each end drops arriving packets at random, so each direction loses that share. netfilter's `statistic` does it. tc's netem
would need a module that many kernels are built without; for TCP both are the same.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER, CLIENT = "10.78.0.1", "10.78.0.2"


class Unavailable(Exception):
    """Says in one sentence why the line cannot be made on this machine."""


def run(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


class Line:
    """A context manager, with a DynamoDB at its far end."""

    def __init__(self):
        if os.geteuid() != 0:
            raise Unavailable("network namespaces need root")
        name = f"line-{os.getpid()}-{time.monotonic_ns() % 100000}"
        self._ends = {SERVER: f"{name}-s", CLIENT: f"{name}-c"}
        self._undo = contextlib.ExitStack()
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self):
        for end in self._ends.values():
            run("ip", "netns", "add", end)
            self._undo.callback(subprocess.run, ["ip", "netns", "delete", end], check=False)
            run("ip", "-n", end, "link", "set", "lo", "up")
        run("ip", "link", "add", "eth0", "netns", self._ends[CLIENT], "type", "veth", "peer", "name", "eth0", "netns",
            self._ends[SERVER])
        for address, end in self._ends.items():
            run("ip", "-n", end, "address", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", end, "link", "set", "eth0", "up")
        server = subprocess.Popen(["ip", "netns", "exec", self._ends[SERVER], sys.executable, ROOT / "scripts" / "dynamodb_local",
                                   "--dynoxide", "--host", SERVER], stdout=subprocess.PIPE, text=True)
        self._undo.callback(self._end, server)
        self.endpoint = server.stdout.readline().strip()
        if not self.endpoint:
            raise Unavailable("the DynamoDB did not start")

    @staticmethod
    def _end(server):
        server.send_signal(signal.SIGTERM)
        server.wait()

    def prefix(self):
        """The words that start a command at the candidates' end."""
        return ["ip", "netns", "exec", self._ends[CLIENT]]

    def lose(self, share):
        """From now on each direction loses this share of its packets."""
        for end in self._ends.values():
            run("ip", "netns", "exec", end, "iptables", "-F", "INPUT")
            if share:
                run("ip", "netns", "exec", end, "iptables", "-A", "INPUT", "-i", "eth0", "-m", "statistic", "--mode", "random",
                    "--probability", share, "-j", "DROP")

    def close(self):
        self._undo.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
