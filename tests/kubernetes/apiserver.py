"""One kube-apiserver as a child process, which a test freezes, ends and starts again on the same port."""

import contextlib
import http.client
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "etcd"), str(HERE.parent / "support"), str(HERE.parents[1] / "scripts")]
from certificates import ToolError
from dynamodb_server import die_with_parent, listens
from server_process import ServerProcess


class ApiServer(ServerProcess):
    """`access`: how to reach it, whose files it reads. `settings`: arguments without their dashes."""

    ToolError = ToolError
    patience_s = 180  # it computes for 4 s, and other tests run at the same time

    def __init__(self, program, access, port, etcd, settings=None, name="apiserver"):
        super().__init__(access.path / f"{name}.log")
        self.port = port
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

    def __repr__(self):
        return f"kube-apiserver at {self.url}"

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    def _launch(self, **how):
        return subprocess.Popen([self._program, *(f"--{name}={value}" for name, value in self.settings.items())],
                                cwd=self._access.path, preexec_fn=die_with_parent, env={"PATH": os.environ["PATH"]}, **how)

    def is_ready(self):
        """All that it starts has started, the roles of RBAC among it."""
        return listens(self.process.pid, self.port) and self.answers()

    def answers(self, timeout_s=10):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self._access.request("GET", "/readyz", url=self.url, timeout_s=timeout_s)[0] == 200
        return False

    def stop(self, how=None, patience_s=30):
        if self.runs():
            self.process.send_signal(how or self.END)
            self.thaw()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(patience_s)
            self.process.kill()
            self.process.wait()
