"""An API server of Kubernetes as a child process, over an etcd of its own. It ends with its parent process.

scripts/kubernetes_local is this module as a command; tests/servers/launcher.py shares one server among the tests of a
ctest run. No package and no registry has the program: Go builds it from its module, some eight minutes of a processor,
and scripts/test only does so with --all. Who may do what there, and how tests change tokens: tests/kubernetes/access.py.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "kubernetes"))
import access
from access import ToolError
from dynamodb_server import die_with_parent
import fetching
import go_tools
from go_tools import NoGo
import kubernetes_cluster

ENDPOINT = access.ENDPOINT
HIDDEN = ("KUBERNETES_", "KUBECONFIG")  # settings of the user, which must have no effect on a test
PEERS = fetching.ROOT / "tests" / "kubernetes" / "peers"
PINNED = [PEERS / "go.sum", PEERS / "go.mod"]
BUILT = fetching.CACHE / "kubernetes"
SERVER = "k8s.io/kubernetes/cmd/kube-apiserver"
TELL_S = 30


class Missing(ToolError):
    """The program is not there and not to be built now: tests that need it are skipped."""


def environment(endpoint, base=None):
    """The environment for a command that uses this server."""
    made = dict(os.environ if base is None else base)
    for name in [n for n in made if n.startswith(HIDDEN)]:
        del made[name]
    return {**made, **access.Access(pathlib.Path(endpoint).parent).environment()}


def store_section(_):
    """For candidates in this environment."""
    return f"{{ type: kubernetes, kubeconfig: \"{os.environ[ENDPOINT]}\" }}"


def prepare():
    """The server's program, which is not built here."""
    program = BUILT / "server" / "kube-apiserver"
    if not fetching.is_made_from(program.parent, PINNED):
        raise Missing("kube-apiserver is not there; scripts/kubernetes_local --build makes it with Go, as scripts/test --all does")
    return str(program)


def built():
    """The same; built if it is missing, which takes minutes."""
    fetching.cached(BUILT / "server", PINNED, _build_server)
    return prepare()


def peer():
    """The path of the program of tests/kubernetes/peers, which elects with client-go."""
    go = go_tools.go_program("what is in tests/kubernetes/peers")

    def build(fresh):
        fetching.run(["nice", "-n", "10", go, "build", "-trimpath", "-buildvcs=false", "-o", fresh / "election", "."],
                     ("Building tests/kubernetes/peers", go_tools.CURE), cwd=PEERS, env=go_tools.environment(CGO_ENABLED="0"))

    fetching.cached(BUILT / "peers", PINNED + sorted(PEERS.glob("*.go")), build)
    return str(BUILT / "peers" / "election")


def _build_server(fresh):
    """What Go fetches (some 100 MB) and compiles (2.4 GB) is thrown away afterwards. It is not optimised, in half the time."""
    go = go_tools.go_program("kube-apiserver")
    kept = fresh / "go"
    made = go_tools.environment(CGO_ENABLED="0", GOMODCACHE=str(kept / "modules"), GOCACHE=str(kept / "objects"),
                                GOTMPDIR=str(fresh))
    made["GOFLAGS"] += " -modcacherw -buildvcs=false"
    for which in ("modules", "objects"):
        (kept / which).mkdir(parents=True)
    version = _version(go, made)
    stamps = {"gitVersion": version, "gitMajor": version[1:].split(".")[0], "gitMinor": version.split(".")[1]}
    flags = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamps.items())
    print(f"Building kube-apiserver {version} with Go, once; it lies in {BUILT} afterwards", file=sys.stderr, flush=True)
    packages = fresh / "packages"
    with open(packages, "wb") as listed:
        _show([go, "list", "-deps", SERVER], made, "modules fetched", "go: downloading", listed)
    all_of_them = len(packages.read_text(encoding="utf-8").splitlines())
    _show([go, "build", "-v", "-p", "1", "-gcflags=all=-N -l", f"-ldflags=-s -w {flags}", "-o", fresh / "kube-apiserver", SERVER],
          made, f"of {all_of_them} packages compiled")
    shutil.rmtree(kept)
    packages.unlink()


def _version(go, made):
    done = subprocess.run([go, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes"], cwd=PEERS, env=made, check=False,
                          capture_output=True, text=True)
    if done.returncode:
        raise ToolError(f"Asking for the version of Kubernetes failed:\n{done.stderr.strip()}\n{go_tools.CURE}")
    return done.stdout.strip()


def _show(command, made, what, begins="", output=subprocess.DEVNULL):
    """Counts the lines on standard error that begin so: on a terminal in one line that changes, elsewhere each half minute."""
    lines, count, told = [], 0, time.monotonic()
    process = subprocess.Popen(["nice", "-n", "10", *command], cwd=PEERS, env=made, stdin=subprocess.DEVNULL, text=True,
                               stdout=output, stderr=subprocess.PIPE, errors="replace",
                               preexec_fn=die_with_parent)
    terminal = sys.stderr.isatty()
    for line in process.stderr:
        lines.append(line)
        count += line.startswith(begins)
        if terminal or time.monotonic() - told >= TELL_S:
            told = time.monotonic()
            print(f"\r{count} {what}" if terminal else f"{count} {what}", end="" if terminal else "\n", file=sys.stderr, flush=True)
    print(f"{chr(13) if terminal else ''}{count} {what}", file=sys.stderr, flush=True)
    if process.wait():
        raise ToolError(f"Building kube-apiserver failed:\n{''.join(lines[-20:]).strip()}\n{go_tools.CURE}")


answers = access.answers


class Server:
    """A running API server with the namespace and the users of access.py."""

    def __init__(self, program):
        self._cluster = kubernetes_cluster.Cluster(program)

    @property
    def endpoint(self):
        return self._cluster.kubeconfig

    @property
    def access(self):
        return self._cluster.access

    @property
    def process(self):
        return self._cluster.server.process

    def output(self):
        return self._cluster.server.log()

    def stop(self):
        self._cluster.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


__all__ = ["ENDPOINT", "HIDDEN", "Missing", "NoGo", "Server", "ToolError", "answers", "built", "environment", "peer", "prepare",
           "store_section"]
