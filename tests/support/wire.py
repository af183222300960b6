"""Machines on one switch, as network namespaces."""

import subprocess

from namespaces import Namespaces, ip


class Wire(Namespaces):
    """Hosts on a switch, which has an address as well: the store's, where it is no file."""

    NETWORK = "10.79.0"
    STORE = f"{NETWORK}.254"
    ETCD = f"http://{STORE}:2379"

    def __init__(self, names):
        self._names = names
        super().__init__()

    def _build(self):
        self.switch = self._add("switch")
        ip("-n", self.switch, "link", "add", "br0", "type", "bridge")
        for n, name in enumerate(self._names, 1):
            host = self._add(name)
            ip("link", "add", "eth0", "netns", host, "type", "veth", "peer", "name", f"to{n}", "netns", self.switch)
            ip("-n", self.switch, "link", "set", f"to{n}", "master", "br0", "up")
            ip("-n", host, "address", "add", f"{self.NETWORK}.{n}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "eth0", "up")
        ip("-n", self.switch, "address", "add", f"{self.STORE}/24", "dev", "br0")
        ip("-n", self.switch, "link", "set", "br0", "up")

    def path(self, name):
        return self.switch if name == "switch" else f"{self._name}-{name}"

    def at(self, name):
        """What stands before a command that runs there."""
        return ["nsenter", f"--net=/run/netns/{self.path(name)}"]

    def cut(self, name):
        """Nothing gets from the store to it any more. The other hosts hear it still."""
        n = self._names.index(name) + 1
        ip("-n", self.switch, "route", "add", "blackhole", f"{self.NETWORK}.{n}/32")

    def heal(self, name):
        n = self._names.index(name) + 1
        ip("-n", self.switch, "route", "delete", "blackhole", f"{self.NETWORK}.{n}/32")

    def start_etcd(self, folder):
        """On the switch, for all hosts."""
        return subprocess.Popen([*self.at("switch"), "etcd", "--name", "one", "--data-dir", folder, "--listen-client-urls",
                                 self.ETCD, "--advertise-client-urls", self.ETCD, "--listen-peer-urls",
                                 "http://127.0.0.1:2380"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
