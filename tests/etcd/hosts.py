"""Network namespaces as hosts, with a router between them that drops what goes from one to another, each direction
alone and without a word: the ends wait, as behind a broken switch.

    host n  10.78.n.2 --- 10.78.n.1  router
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "chaos"))
from network import Unavailable, enter, ip


class Hosts:
    """A context manager. Meanwhile the thread that made it, and what it starts, is on the first host."""

    def __init__(self, names):
        if os.geteuid() != 0:
            raise Unavailable("network namespaces need root")
        self._network = f"tenure-{os.getpid()}-{time.monotonic_ns() % 100000}"
        self._names = list(names)
        self._cut = set()
        self._undo = contextlib.ExitStack()
        try:
            self._build()
        except (OSError, Unavailable) as fault:
            self.close()
            raise Unavailable(str(fault)) from None

    def _build(self):
        router = self._add("router")
        ip("netns", "exec", router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        for n, name in enumerate(self._names, 1):
            host = self._add(name)
            ip("link", "add", "eth0", "netns", host, "type", "veth", "peer", "name", f"to{n}", "netns", router)
            for where, link, address in ((router, f"to{n}", f"10.78.{n}.1/24"), (host, "eth0", f"10.78.{n}.2/24")):
                ip("-n", where, "address", "add", address, "dev", link)
                ip("-n", where, "link", "set", link, "up")
            ip("-n", host, "route", "add", "default", "via", f"10.78.{n}.1")
        home = self._undo.enter_context(open("/proc/thread-self/ns/net", "rb"))
        self._undo.callback(enter, f"/proc/self/fd/{home.fileno()}")
        enter(f"/run/netns/{self._network}-{self._names[0]}")

    def _add(self, what):
        name = f"{self._network}-{what}"
        ip("netns", "add", name)
        self._undo.callback(subprocess.run, ["ip", "netns", "delete", name], check=False)
        ip("-n", name, "link", "set", "lo", "up")
        return name

    def address(self, name):
        return f"10.78.{self._names.index(name) + 1}.2"

    def prefix(self, name):
        """What stands before a command that runs there."""
        return ["ip", "netns", "exec", f"{self._network}-{name}"]

    def cut(self, sender, receiver):
        """From now on nothing gets from one to the other."""
        if (sender, receiver) not in self._cut:
            self._cut.add((sender, receiver))
            self._rule("add", sender, receiver)

    def part(self, ones, others):
        """Nor the other way."""
        for one in ones:
            for other in others:
                if one != other:
                    self.cut(one, other)
                    self.cut(other, one)

    def mend(self):
        """All is as it was."""
        for sender, receiver in self._cut:
            self._rule("del", sender, receiver)
        self._cut.clear()

    def _rule(self, what, sender, receiver):
        ip("-n", f"{self._network}-router", "rule", what, "from", self.address(sender), "to", self.address(receiver), "blackhole")

    def close(self):
        self._undo.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
