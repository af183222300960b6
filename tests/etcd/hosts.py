"""Network namespaces as hosts, with a router between them that drops what goes from one to another, each direction
alone and without a word: the ends wait, as behind a broken switch.

    host n  10.78.n.2 --- 10.78.n.1  router
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from namespaces import Namespaces, Unavailable, enter, ip

NETWORK = "10.78"


class Hosts(Namespaces):
    """Meanwhile the thread that made it, and what it starts, is on the first host."""

    def __init__(self, names):
        self._names = list(names)
        self._cut = set()
        super().__init__()

    def _build(self):
        router = self._add_router()
        for n, name in enumerate(self._names, 1):
            self._join(self._add(name), router, NETWORK, n)
        home = self._undo.enter_context(open("/proc/thread-self/ns/net", "rb"))
        self._undo.callback(enter, f"/proc/self/fd/{home.fileno()}")
        enter(f"/run/netns/{self._name}-{self._names[0]}")

    def address(self, name):
        return f"{NETWORK}.{self._names.index(name) + 1}.2"

    def prefix(self, name):
        """What stands before a command that runs there."""
        return ["ip", "netns", "exec", f"{self._name}-{name}"]

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
        ip("-n", f"{self._name}-router", "rule", what, "from", self.address(sender), "to", self.address(receiver), "blackhole")
