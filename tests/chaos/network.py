"""Network namespaces for candidates, with a router between them and a door to the store: each direction can be cut
alone.

    candidate n  10.77.n.2 --- 10.77.n.1  router  10.77.0.1 --- 10.77.0.2  door

The router silently drops packets with blackhole routes, so neither iptables nor nftables is needed. The door accepts
connections in its namespace and passes them on to a server on the loopback of this one.
"""

import contextlib
import ctypes
import os
import selectors
import socket
import subprocess
import threading
import time
import urllib.parse

DOOR_ADDRESS, DOOR_PORT = "10.77.0.2", 8000
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


class Door(threading.Thread):
    """Passes bytes on until it is closed. A socket stays in the namespace in which it was created."""

    def __init__(self, namespace, endpoint):
        super().__init__(daemon=True)
        where = urllib.parse.urlsplit(endpoint)
        self._server = (where.hostname, where.port)
        self._listener = self._fault = None
        maker = threading.Thread(target=self._listen, args=(f"/run/netns/{namespace}",))
        maker.start()  # a separate thread, which ends in the other namespace
        maker.join()
        if self._fault:
            raise self._fault
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._peers = {}
        self._ends = False
        self.start()

    def _listen(self, namespace):
        try:
            enter(namespace)
            self._listener = socket.create_server((DOOR_ADDRESS, DOOR_PORT))
        except (OSError, Unavailable) as fault:
            self._fault = Unavailable(str(fault))

    def run(self):
        while not self._ends:
            for key, _ in self._selector.select(timeout=0.1):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj in self._peers:
                    self._pass_on(key.fileobj)

    def _accept(self):
        inside, _ = self._listener.accept()
        outside = socket.create_connection(self._server)
        for one, other in ((inside, outside), (outside, inside)):
            self._peers[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _pass_on(self, one):
        other = self._peers[one]
        try:
            data = one.recv(65536)
            if data:
                other.sendall(data)
                return
        except OSError:
            pass
        for end in (one, other):
            self._selector.unregister(end)
            del self._peers[end]
            end.close()

    def close(self):
        self._ends = True
        self.join()
        for end in [self._listener, *self._peers]:
            end.close()


class Network:
    """A context manager. `endpoint`: that of the server on this machine's loopback."""

    def __init__(self, endpoint, candidates):
        if os.geteuid() != 0:
            raise Unavailable("network namespaces need root")
        self._name = f"tenure-{os.getpid()}-{time.monotonic_ns() % 100000}"
        self._undo = contextlib.ExitStack()
        try:
            self._build(endpoint, candidates)
        except (OSError, Unavailable) as fault:
            self.close()
            raise Unavailable(str(fault)) from None

    def _build(self, endpoint, candidates):
        router = self._add("router")
        ip("netns", "exec", router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        door = self._add("door")
        self._join(door, 0)
        for n in range(1, candidates + 1):
            self._join(self._add(f"c{n}"), n)
            # The candidate's packets use their own routing table, so that this direction can be cut as well.
            ip("-n", router, "rule", "add", "from", f"10.77.{n}.2", "lookup", 100 + n)
        opened = Door(door, endpoint)
        self._undo.callback(opened.close)
        self.door_address, self.door_port = DOOR_ADDRESS, DOOR_PORT
        self.endpoint = f"http://{DOOR_ADDRESS}:{DOOR_PORT}"

    def _add(self, what):
        name = f"{self._name}-{what}"
        ip("netns", "add", name)
        self._undo.callback(subprocess.run, ["ip", "netns", "delete", name], check=False)
        ip("-n", name, "link", "set", "lo", "up")
        return name

    def _join(self, namespace, n):
        router = f"{self._name}-router"
        ip("link", "add", "eth0", "netns", namespace, "type", "veth", "peer", "name", f"to{n}", "netns", router)
        for name, link, address in ((router, f"to{n}", f"10.77.{n}.1/24"), (namespace, "eth0", f"10.77.{n}.2/24")):
            ip("-n", name, "address", "add", address, "dev", link)
            ip("-n", name, "link", "set", link, "up")
        ip("-n", namespace, "route", "add", "default", "via", f"10.77.{n}.1")

    def prefix(self, n):
        """The command prefix that starts a program as candidate n (from 1 on)."""
        return ["ip", "netns", "exec", f"{self._name}-c{n}"]

    def cut(self, n, requests=False, replies=False):
        """From now on what it sends, or what is sent to it, is lost. Neither: the network works again."""
        router = f"{self._name}-router"
        for wanted, route in ((requests, ["blackhole", "default", "table", 100 + n]), (replies, ["blackhole", f"10.77.{n}.2/32"])):
            with contextlib.suppress(Unavailable):  # the route was not there
                ip("-n", router, "route", "del", *route)
            if wanted:
                ip("-n", router, "route", "add", *route)

    def close(self):
        self._undo.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
