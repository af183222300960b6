"""Members of etcd clusters that a test ends, freezes and starts again; with TLS and users if the test wants them.

All of it is on the loopback (or at addresses that a test gives, in namespaces of its own) and in a temporary directory.
Members end with the process that started them. beside.py runs a command beside a cluster; control.py is for tests in
C++ (etcd_cluster.hpp).
"""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts"), str(HERE.parent / "support")]
from certificates import Authority, ToolError, openssl
from dynamodb_server import die_with_parent, listens
from server_process import ServerProcess
from waiting import PATIENCE_S, wait_until

ROOT = ("root", "root-secret")
USER = ("tenure", "tenure-secret")           # may do everything below PREFIX
STRANGER = ("stranger", "stranger-secret")   # has no role
PREFIX = "/tenure"


def etcd_program():
    """TENURE_TEST_ETCD_PROGRAM names another release."""
    program = os.environ.get("TENURE_TEST_ETCD_PROGRAM") or shutil.which("etcd")
    if not program:
        raise ToolError("etcd's server is not there. On Debian: scripts/setup, or: apt-get install etcd-server")
    return program


def free_ports(count, host="127.0.0.1"):
    """Below those that the system gives to clients: a port of these would soon be somebody's."""
    found = []
    while len(found) < count:
        port = random.randrange(15000, 32000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind((host if host.startswith("127.") else "", port))
            if port not in found:
                found.append(port)
    return found


def b64(text):
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode("ascii")


def end_of_prefix(prefix):
    data = prefix.encode()
    return data[:-1] + bytes([data[-1] + 1])


class Member(ServerProcess):
    """One server. `words`: further arguments. `before`: words before the program, such as `ip netns exec`."""

    ToolError = ToolError
    READY = "to have a leader"

    def __init__(self, cluster, name, host, ports, before=()):
        super().__init__(cluster.path / f"{name}.log")
        self.name = name
        self.host = host
        self.port, self.peer_port = ports
        self.words = []
        self.data = cluster.path / name
        self._before = list(before)
        self._cluster = cluster

    def __repr__(self):
        return f"{self.name} at {self.url}"

    @property
    def url(self):
        return f"{'https' if self._cluster.authority else 'http'}://{self.host}:{self.port}"

    @property
    def peer_url(self):
        return f"http://{self.host}:{self.peer_port}"

    def _launch(self, **how):
        return subprocess.Popen(
            [*self._before, self._cluster.program, "--name", self.name, "--data-dir", str(self.data),
             "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
             "--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url,
             *self._cluster.words(), *self.words],
            cwd=self._cluster.path, preexec_fn=die_with_parent, env={"PATH": os.environ["PATH"]}, **how)

    def is_ready(self):
        """Serves its clients, for which it needs a leader."""
        return listens(self.process.pid, self.port) and self.has_leader()

    # -- what it says ---------------------------------------------------------------------------------------------

    def request(self, path, body, timeout_s=10, token=None):
        """One POST to the gateway: (status, the reply's JSON). OSError if it does not answer."""
        status, text = self._ask("POST", path, json.dumps(body), {"Authorization": token} if token else {}, timeout_s)
        try:
            return status, json.loads(text)
        except ValueError:
            return status, {"text": text}

    def has_leader(self):
        return self._metric("has_leader")

    def leads(self):
        return self._metric("is_leader")

    def _metric(self, name):
        """False if it does not answer. Nobody needs a token for this."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            return f"\netcd_server_{name} 1\n" in self._ask("GET", "/metrics", None, {}, 2)[1]
        return False

    def _ask(self, method, path, body, headers, timeout_s):
        authority = self._cluster.authority
        if authority:
            context = ssl.create_default_context(cafile=authority.ca)
            context.load_cert_chain(authority.certificate("client"), authority.key("client"))
            connection = http.client.HTTPSConnection(self.host, self.port, timeout=timeout_s, context=context)
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return reply.status, reply.read().decode()


class Cluster:
    """As a context manager: SIZE members, started. `tls`: clients need a certificate of `authority`, ("client" is one).
    `users`: authentication is on, with ROOT, USER and STRANGER. `jwt`: how long their tokens, which are signed, are valid
    (`1h`); without it members keep simple ones. `settings`: arguments of etcd without their dashes.
    `hosts` and `before`: one for each member, for namespaces."""

    def __init__(self, size=1, tls=False, users=False, settings=None, program=None, hosts=None, before=None, start=True,
                 jwt=None):
        self.program = program or etcd_program()
        self._directory = tempfile.TemporaryDirectory(prefix="tenure-etcd.")
        self.path = pathlib.Path(self._directory.name)
        self.settings = {"heartbeat-interval": "100", "election-timeout": "1000", "logger": "zap", **(settings or {})}
        self.authority = None
        self.users = users
        self.members = []
        self._undo = contextlib.ExitStack()
        self._undo.callback(self._directory.cleanup)
        try:
            hosts = hosts or ["127.0.0.1"] * size
            if tls:
                self.authority = Authority(self.path / "certificates")
                self.authority.issue("member", ["localhost", *dict.fromkeys(hosts)])
                self.authority.issue("client")
            if users:
                self.settings.setdefault("bcrypt-cost", "4")
            if jwt:
                self.settings["auth-token"] = f"jwt,sign-method=RS256,ttl={jwt},{self._signing_keys()}"
            self._make(hosts, before or [()] * size, start)
            if users and start:
                self.enable_users()
        except BaseException:
            self.close()
            raise

    def _make(self, hosts, before, start, attempts=3):
        for left in reversed(range(attempts)):
            ports = free_ports(2 * len(hosts), hosts[0])
            self.members = [Member(self, f"m{i + 1}", host, ports[2 * i:2 * i + 2], before[i]) for i, host in enumerate(hosts)]
            if not start:
                return
            try:
                self.start()
                return
            except ToolError as error:
                self._end_members()
                if "address already in use" not in str(error) or not left:
                    raise
                for member in self.members:
                    shutil.rmtree(member.data, ignore_errors=True)

    def start(self):
        for member in self.members:
            member.start(wait=False)
        for member in self.members:
            member.wait_until_ready()

    def words(self):
        """Arguments that all members share."""
        wanted = {"initial-cluster": ",".join(f"{one.name}={one.peer_url}" for one in self.members),
                  "initial-cluster-state": "new", "initial-cluster-token": self.path.name, **self.settings}
        if self.authority:
            wanted.update({"cert-file": self.authority.certificate("member"), "key-file": self.authority.key("member"),
                           "trusted-ca-file": self.authority.ca, "client-cert-auth": "true"})
        return [f"--{name}={value}" for name, value in wanted.items()]

    # -- what tests ask -------------------------------------------------------------------------------------------

    @property
    def endpoints(self):
        return [member.url for member in self.members]

    @property
    def prefix(self):
        return PREFIX

    def leader(self):
        """Of those that run and answer, the one that leads."""
        def found():
            return next((one for one in self.members if one.runs() and one.leads()), None)
        return wait_until(found, "a leader")

    def followers(self):
        leader = self.leader()
        return [one for one in self.members if one is not leader]

    def request(self, path, body, token=None, timeout_s=10):
        """The reply's JSON of the first member that runs, which must accept the request."""
        member = next(one for one in self.members if one.runs())
        status, reply = member.request(path, body, timeout_s, token)
        if status != 200:
            raise ToolError(f"{member}: {path} was answered with {status}: {reply}")
        return reply

    def file(self, name, text):
        """A new file of the cluster's directory, only for this user; its path."""
        path = self.path / name
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def etcdctl(self, *words, user=None, timeout_s=30):
        """What it prints. `user`: (name, password)."""
        command = ["etcdctl", "--endpoints", ",".join(one.url for one in self.members if one.runs()), *words]
        if self.authority:
            command += ["--cacert", self.authority.ca, "--cert", self.authority.certificate("client"), "--key",
                        self.authority.key("client")]
        if user:
            command += ["--user", ":".join(user)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False,
                              stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"})
        if done.returncode:
            raise ToolError(f"etcdctl {words[0]}: {done.stderr.strip()}")
        return done.stdout

    # -- users ----------------------------------------------------------------------------------------------------

    def enable_users(self):
        self.request("/v3/auth/role/add", {"name": "tenure"})
        self.request("/v3/auth/role/grant", {"name": "tenure", "perm": {
            "permType": "READWRITE", "key": b64(PREFIX), "range_end": b64(end_of_prefix(PREFIX))}})
        for name, password in (ROOT, USER, STRANGER):
            self.request("/v3/auth/user/add", {"name": name, "password": password})
        self.request("/v3/auth/user/grant", {"user": ROOT[0], "role": "root"})
        self.request("/v3/auth/user/grant", {"user": USER[0], "role": "tenure"})
        self.request("/v3/auth/enable", {})

    def _signing_keys(self):
        key, public = str(self.path / "jwt.key"), str(self.path / "jwt.pub")
        openssl("genrsa", "-out", key, "2048")
        openssl("rsa", "-in", key, "-pubout", "-out", public)
        return f"pub-key={public},priv-key={key}"

    def password_file(self, user=USER):
        return self.file(f"{user[0]}.password", user[1] + "\n")

    def token(self, user=ROOT):
        return self.request("/v3/auth/authenticate", {"name": user[0], "password": user[1]})["token"]

    def change_password(self, user, password):
        self.request("/v3/auth/user/changepw", {"name": user, "password": password}, self.token())

    def forget_tokens(self):
        """All members forget USER's tokens: a change of the password does it, even to the same one."""
        self.change_password(*USER)

    # -- its end --------------------------------------------------------------------------------------------------

    def tmpfs(self, name, mebibytes):
        """A disk of this size for a member's data, before it starts. It needs root, or it is a PermissionError."""
        if os.geteuid() != 0:
            raise PermissionError("mounting needs root")
        path = self.path / name
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0700", "tenure-test", str(path)], check=True)
        self._undo.callback(subprocess.run, ["umount", "-l", str(path)], check=False)
        return path

    def _end_members(self):
        for member in self.members:
            if member.runs():
                member.process.kill()
        for member in self.members:
            if member.process:
                member.process.wait()

    def close(self):
        self._end_members()
        self._undo.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
