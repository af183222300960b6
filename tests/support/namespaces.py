"""Network namespaces of one test: made together, and gone with it."""

import contextlib
import ctypes
import os
import subprocess
import time

CLONE_NEWNET = 0x40000000


class Unavailable(Exception):
    """Says in one sentence why it is impossible here."""


def ip(*words):
    done = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"ip {' '.join(map(str, words))}: {done.stderr.strip()}")


def enter(namespace):
    """Changes the calling thread only."""
    with open(namespace, "rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
            raise Unavailable(f"setns {namespace}: {os.strerror(ctypes.get_errno())}")


class Namespaces:
    """A context manager. Whoever derives from it builds with `_add` and `_join`; what cannot be built raises Unavailable."""

    def __init__(self):
        if os.geteuid() != 0:
            raise Unavailable("network namespaces need root")
        self._name = f"tenure-{os.getpid()}-{time.monotonic_ns() % 100000}"
        self._undo = contextlib.ExitStack()
        try:
            self._build()
        except (OSError, Unavailable) as fault:
            self.close()
            raise Unavailable(str(fault)) from None

    def _build(self):
        raise NotImplementedError

    def _add(self, what):
        name = f"{self._name}-{what}"
        ip("netns", "add", name)
        self._undo.callback(subprocess.run, ["ip", "netns", "delete", name], check=False)
        ip("-n", name, "link", "set", "lo", "up")
        return name

    def _add_router(self):
        router = self._add("router")
        ip("netns", "exec", router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        return router

    def _join(self, namespace, router, network, n):
        """A line between them: `network`.n.2 there, `network`.n.1 at the router."""
        ip("link", "add", "eth0", "netns", namespace, "type", "veth", "peer", "name", f"to{n}", "netns", router)
        for where, link, address in ((router, f"to{n}", f"{network}.{n}.1/24"), (namespace, "eth0", f"{network}.{n}.2/24")):
            ip("-n", where, "address", "add", address, "dev", link)
            ip("-n", where, "link", "set", link, "up")
        ip("-n", namespace, "route", "add", "default", "via", f"{network}.{n}.1")

    def close(self):
        self._undo.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
