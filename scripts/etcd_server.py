"""One member of etcd as a child process, in a temporary directory. It ends with its parent process.

Debian's own etcd is neither used nor started. scripts/etcd_local is this module as a command; tests/servers/launcher.py
shares one server among the tests of a ctest run. Clusters that fail: tests/etcd/etcd_cluster.py. What is built with Go,
where Go is there: tests/etcd/peers.
"""

import os
import pathlib
import socket
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "etcd"))
from certificates import ToolError
import etcd_cluster
import fetching
import go_tools
from go_tools import NoGo, go_program

ENDPOINT = "TENURE_TEST_ETCD"
HIDDEN = ("ETCD_", "ETCDCTL_")  # settings of the user, which must have no effect on a test
PEERS = fetching.ROOT / "tests" / "etcd" / "peers"
RELEASES = fetching.ROOT / "tests" / "etcd" / "releases"
BUILT = fetching.CACHE / "etcd"


def environment(endpoint, base=None):
    """The environment for a command that uses this server. Settings of the user must have no effect on a test."""
    made = dict(os.environ if base is None else base)
    for name in [n for n in made if n.startswith(HIDDEN)]:
        del made[name]
    made[ENDPOINT] = endpoint
    return made


def store_section(_):
    """For candidates in this environment. The prefix is their own, so that demos on one server do not meet."""
    return f"{{ type: etcd, endpoints: \"{os.environ[ENDPOINT]}\", prefix: /tenure-demo-{os.getpid()} }}"


def prepare():
    """The server's program."""
    return etcd_cluster.etcd_program()


def built(name):
    """The path of a program of tests/etcd/peers: "election", or "etcd", the newest release of the server that tests know."""
    go = go_program("what is in tests/etcd/peers")

    def build(fresh):
        for output, package in (("election", "."), ("etcd", "go.etcd.io/etcd/server/v3")):
            fetching.run(["nice", "-n", "10", go, "build", "-trimpath", "-o", fresh / output, package],
                         (f"Building {output} of tests/etcd/peers", go_tools.CURE), cwd=PEERS, env=go_tools.environment())

    fetching.cached(BUILT, [PEERS / "go.sum", PEERS / "go.mod", PEERS / "main.go"], build)
    return str(BUILT / name)


def release(version):
    """The path of the server of this release ("3.5", "3.6"), as tests/etcd/releases pins it."""
    go = go_program("what is in tests/etcd/releases")
    home = RELEASES / f"v{version}"

    def build(fresh):
        fetching.run(["nice", "-n", "10", go, "build", "-trimpath", "-o", fresh / "etcd", "go.etcd.io/etcd/server/v3"],
                     (f"Building etcd {version}", go_tools.CURE), cwd=home, env=go_tools.environment())

    fetching.cached(BUILT.with_name(f"etcd-{version}"), [home / "go.sum", home / "go.mod"], build)
    return str(BUILT.with_name(f"etcd-{version}") / "etcd")


def answers(endpoint):
    parts = urllib.parse.urlsplit(endpoint)
    try:
        socket.create_connection((parts.hostname, parts.port), timeout=1).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        pass
    return True


class Server:
    """A running member with an empty store."""

    def __init__(self, program, size=1):
        self._cluster = etcd_cluster.Cluster(size, program=program, settings={"auto-compaction-mode": "revision",
                                                                         "auto-compaction-retention": "1000"})

    @property
    def endpoint(self):
        return ",".join(self._cluster.endpoints)

    @property
    def process(self):
        return self._cluster.members[0].process

    def pids(self):
        return [member.process.pid for member in self._cluster.members]

    def output(self):
        return self._cluster.members[0].log()

    def stop(self):
        self._cluster.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
