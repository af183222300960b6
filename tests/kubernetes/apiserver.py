"""One kube-apiserver as a child process, which a test freezes, ends and starts again on the same port."""

import contextlib
import http.client
import os
import pathlib
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "etcd"), str(HERE.parents[1] / "scripts")]
from certificates import Trouble
from dynamodb_server import die_with_parent, listens
from etcd_cluster import wait_until

START_PATIENCE_S = 180  # it computes for 4 s, and other tests run beside it


class ApiServer:
    """`access`: how to reach it, whose files it reads. `settings`: arguments without their dashes."""

    def __init__(self, program, access, port, etcd, settings=None, name="apiserver"):
        self.port = port
        self.process = None
        self.settings = {
            "etcd-servers": etcd, "bind-address": "127.0.0.1", "advertise-address": "127.0.0.1", "secure-port": port,
            "tls-cert-file": access.file("apiserver.pem"), "tls-private-key-file": access.file("apiserver.key"),
            "client-ca-file": access.file("ca.pem"), "token-auth-file": access.file("tokens.csv"),
            "service-account-issuer": access.ISSUER, "service-account-key-file": access.file("accounts.pem"),
            "service-account-signing-key-file": access.file("accounts.key"),
            # A pod needs no account of its own here, for nothing runs it; and nobody looks for this server's address.
            "authorization-mode": "RBAC", "disable-admission-plugins": "ServiceAccount", "endpoint-reconciler-type": "none",
            "service-cluster-ip-range": "10.0.0.0/24", "profiling": "false", **(settings or {})}
        self._program = program
        self._access = access
        self._log = access.path / f"{name}.log"

    def __repr__(self):
        return f"kube-apiserver at {self.url}"

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    def start(self, wait=True):
        with open(self._log, "ab") as log:
            self.process = subprocess.Popen(
                [self._program, *(f"--{name}={value}" for name, value in self.settings.items())],
                cwd=self._access.path, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=die_with_parent, env={"PATH": os.environ["PATH"]})
        if wait:
            self.wait_until_ready()
        return self

    def wait_until_ready(self, patience_s=START_PATIENCE_S):
        """Until all that it starts has started, the roles of RBAC among it."""
        def ready():
            if self.process.poll() is not None:
                raise Trouble(f"{self} ended:\n{self.log()[-3000:]}")
            return listens(self.process.pid, self.port) and self.is_ready()
        wait_until(ready, f"{self} to be ready", patience_s)

    def is_ready(self, timeout_s=10):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self._access.request("GET", "/readyz", url=self.url, timeout_s=timeout_s)[0] == 200
        return False

    def stop(self, how=signal.SIGTERM, patience_s=30):
        if self.runs():
            self.process.send_signal(how)
            self.thaw()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(patience_s)
            self.process.kill()
            self.process.wait()

    def kill(self):
        self.stop(signal.SIGKILL)

    def restart(self, how=signal.SIGKILL, wait=True):
        self.stop(how)
        return self.start(wait)

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        if self.runs():
            self.process.send_signal(signal.SIGCONT)

    def log(self):
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""
