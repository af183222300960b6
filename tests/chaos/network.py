"""Network namespaces for candidates, with a router between them and a door to the store: each direction can be cut
alone.

    candidate n  10.77.n.2 --- 10.77.n.1  router  10.77.0.1 --- 10.77.0.2  door

The router silently drops packets with blackhole routes, so neither iptables nor nftables is needed. The door accepts
connections in its namespace and passes them on to a server on the loopback of this one.
"""

import contextlib
import pathlib
import selectors
import socket
import sys
import threading
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from namespaces import Namespaces, Unavailable, enter, ip

DOOR_ADDRESS, DOOR_PORT = "10.77.0.2", 8000
NETWORK = "10.77"


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


class Network(Namespaces):
    """Meanwhile the candidates have hosts of their own. `endpoint`: that of the server on this machine's loopback."""

    def __init__(self, endpoint, candidates):
        self._endpoint, self._candidates = endpoint, candidates
        super().__init__()

    def _build(self):
        router = self._add_router()
        door = self._add("door")
        self._join(door, router, NETWORK, 0)
        for n in range(1, self._candidates + 1):
            self._join(self._add(f"c{n}"), router, NETWORK, n)
            # The candidate's packets use their own routing table, so that this direction can be cut as well.
            ip("-n", router, "rule", "add", "from", f"{NETWORK}.{n}.2", "lookup", 100 + n)
        opened = Door(door, self._endpoint)
        self._undo.callback(opened.close)
        self.door_address, self.door_port = DOOR_ADDRESS, DOOR_PORT
        self.endpoint = f"http://{DOOR_ADDRESS}:{DOOR_PORT}"

    def prefix(self, n):
        """The command prefix that starts a program as candidate n (from 1 on)."""
        return ["ip", "netns", "exec", f"{self._name}-c{n}"]

    def cut(self, n, requests=False, replies=False):
        """From now on what it sends, or what is sent to it, is lost. Neither: the network works again."""
        router = f"{self._name}-router"
        for wanted, route in ((requests, ["blackhole", "default", "table", 100 + n]), (replies, ["blackhole", f"{NETWORK}.{n}.2/32"])):
            with contextlib.suppress(Unavailable):  # the route was not there
                ip("-n", router, "route", "del", *route)
            if wanted:
                ip("-n", router, "route", "add", *route)
