"""What docs/etcd.md says of etcd itself, on a real member: restores, compaction, the grpc-proxy."""

import contextlib
import http.client
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts")]
from dynamodb_server import die_with_parent
from etcd_cluster import Cluster, b64, etcd_program, free_ports, wait_until

KEY = b64("/tenure/lease/a")


class Documented(unittest.TestCase):
    def put(self, cluster, value):
        """The revision."""
        return int(cluster.request("/v3/kv/put", {"key": KEY, "value": b64(value)})["header"]["revision"])

    def replace(self, cluster, *compares):
        return cluster.request("/v3/kv/txn", {
            "compare": [{"result": "EQUAL", "key": KEY, **one} for one in compares],
            "success": [{"request_put": {"key": KEY, "value": b64("stale")}}]}).get("succeeded", False)

    def test_after_a_restore_revisions_come_again_and_only_the_value_tells(self):
        with Cluster() as cluster:
            member = cluster.members[0]
            self.put(cluster, "kept")
            snapshot = str(cluster.path / "snapshot")
            cluster.etcdctl("snapshot", "save", snapshot)
            lost = self.put(cluster, "lost")
            member.stop()
            member.data = cluster.path / "restored"
            cluster.etcdctl("snapshot", "restore", snapshot, "--name", member.name, "--data-dir", str(member.data),
                            "--initial-cluster", f"{member.name}={member.peer_url}", "--initial-cluster-token", cluster.path.name,
                            "--initial-advertise-peer-urls", member.peer_url)
            member.start()
            self.assertEqual(lost, self.put(cluster, "another"), "a revision that was given before")
            revision = {"target": "MOD", "mod_revision": str(lost)}
            self.assertFalse(self.replace(cluster, revision, {"target": "VALUE", "value": b64("lost")}))
            self.assertTrue(self.replace(cluster, revision), "the revision alone is no proof")

    def test_periodic_compaction_forgets_old_revisions_of_a_running_member(self):
        with Cluster(settings={"auto-compaction-mode": "periodic", "auto-compaction-retention": "5s"}) as cluster:
            first = self.put(cluster, "first")
            old = {"key": KEY, "revision": str(first)}
            self.put(cluster, "second")
            self.assertEqual(200, cluster.members[0].request("/v3/kv/range", old)[0])

            def compacted():
                self.put(cluster, "more")
                status, reply = cluster.members[0].request("/v3/kv/range", old)
                told = reply.get("error", reply.get("message", ""))  # the name depends on etcd's version
                return status == 400 and "compacted" in told
            wait_until(compacted, "the compaction")

    def test_the_grpc_proxy_has_no_gateway(self):
        with Cluster() as cluster:
            port = free_ports(1)[0]
            proxy = subprocess.Popen([etcd_program(), "grpc-proxy", "start", "--endpoints", cluster.endpoints[0], "--listen-addr",
                                      f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     preexec_fn=die_with_parent, env={"PATH": os.environ["PATH"]})
            self.addCleanup(lambda: (proxy.kill(), proxy.wait()))

            def status(method, path):
                with contextlib.suppress(OSError), contextlib.closing(
                        http.client.HTTPConnection("127.0.0.1", port, timeout=2)) as connection:
                    connection.request(method, path, "{}" if method == "POST" else None)
                    return connection.getresponse().status
                return 0
            wait_until(lambda: status("GET", "/health") == 200, "the proxy")
            self.assertEqual(404, status("POST", "/v3/kv/txn"))
            self.assertEqual(404, status("POST", "/v3/watch"))


if __name__ == "__main__":
    unittest.main()
