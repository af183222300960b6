"""An API server of Kubernetes for a test, over an etcd of its own, on the loopback and in a temporary directory.

There is nothing else of a cluster: nobody runs pods, and nobody collects garbage. Both processes end with the one that
started them. What a test may do to them: apiserver.py, etcd_cluster.py; who may do what: access.py. beside.py runs a
command beside one.
"""

import contextlib
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "etcd"), str(HERE.parents[1] / "scripts")]
from access import Access
from apiserver import ApiServer
from certificates import ToolError
import etcd_cluster


class Cluster:
    """As a context manager: started, with the namespace, users and roles of access.py. `settings`: arguments of
    kube-apiserver without their dashes."""

    def __init__(self, program, settings=None):
        self._undo = contextlib.ExitStack()
        try:
            directory = self._undo.enter_context(tempfile.TemporaryDirectory(prefix="tenure-kubernetes."))
            self.access = Access(directory)
            self.etcd = self._undo.enter_context(etcd_cluster.Cluster(1)).members[0]
            self.server = self._started(program, settings)
            self._undo.callback(lambda: self.server.kill())
            self.access.prepare()
            self.access.keep_environment({"TENURE_TEST_KUBERNETES_PIDS": f"{self.server.process.pid},{self.etcd.process.pid}"})
        except BaseException:
            self._undo.close()
            raise

    def _started(self, program, settings, attempts=3):
        for left in reversed(range(attempts)):
            port = etcd_cluster.free_ports(1)[0]
            self.access.make_files(f"https://127.0.0.1:{port}")
            server = ApiServer(program, self.access, port, self.etcd.url, settings)
            try:
                return server.start()
            except ToolError as error:
                if "address already in use" not in str(error) or not left:
                    raise
            except BaseException:
                server.kill()
                raise

    @property
    def kubeconfig(self):
        return self.access.kubeconfig

    def close(self):
        self._undo.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
