"""The API server of the tests: who may do what, tokens that end, and that it ends with its command."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "scripts")]
from access import NAMESPACE, PREPARED, Access, ToolError
from etcd_cluster import wait_until
import kubernetes_server

SCRIPT = str(ROOT / "scripts" / "kubernetes_local")
SHOW = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
PATIENCE_S = 180


def clean():
    return {name: value for name, value in os.environ.items() if not name.startswith(kubernetes_server.ENDPOINT)}


class Shared(unittest.TestCase):
    """The server that the launcher gave to this test."""

    def setUp(self):
        self.access = Access.beside()
        self.name = f"server-test-{os.getpid()}-{self._testMethodName.replace('_', '-')}"[:63]

    def ask(self, method, path, body=None, user="tenure"):
        return self.access.request(method, path, body, token=self.access.user_token(user))

    def put(self, lease, user="tenure", **spec):
        return self.ask("PUT", self.access.leases(lease["metadata"]["name"]), {**lease, "spec": spec}, user)

    def test_writes_only_over_the_version_that_was_read(self):
        status, made = self.ask("POST", self.access.leases(), {"metadata": {"name": self.name}, "spec": {"holderIdentity": "a"}})
        self.assertEqual(status, 201, made)
        self.assertEqual(self.put(made, holderIdentity="b")[0], 200)
        status, reply = self.put(made, holderIdentity="c")
        self.assertEqual((status, reply["reason"]), (409, "Conflict"))

    def test_lets_the_user_tenure_do_what_its_role_says(self):
        leases = self.access.leases
        self.assertEqual(self.ask("GET", leases())[0], 200)
        self.assertEqual(self.ask("GET", leases(self.name))[0], 404)
        self.assertEqual(self.ask("DELETE", leases(self.name))[0], 403)
        self.assertEqual(self.ask("GET", leases(namespace="default"))[0], 403)

    def test_lets_the_user_prepared_use_its_lease_alone(self):
        leases, only = self.access.leases, f"?fieldSelector=metadata.name%3D{PREPARED}"
        status, lease = self.ask("GET", leases(PREPARED), user="prepared")
        self.assertEqual((status, self.put(lease, "prepared", holderIdentity="a")[0]), (200, 200))
        self.assertEqual(self.ask("GET", leases() + only, user="prepared")[0], 200)
        self.assertEqual(self.ask("GET", f"{leases()}{only}&watch=1&timeoutSeconds=1", user="prepared")[0], 200)
        for method, path in (("GET", leases(self.name)), ("GET", leases()), ("POST", leases())):
            self.assertEqual(self.ask(method, path, method == "POST" and {"metadata": {"name": PREPARED}} or None, "prepared")[0], 403)

    def test_lets_an_outsider_do_nothing(self):
        for method, path in (("GET", self.access.leases(PREPARED)), ("GET", self.access.leases())):
            self.assertEqual(self.ask(method, path, user="outsider")[0], 403)
        self.assertEqual(self.access.request("GET", self.access.leases(), token="unknown")[0], 401)

    def test_hides_the_users_settings(self):
        self.assertEqual([name for name in os.environ if name.startswith(kubernetes_server.HIDDEN)], [])

    def test_replaces_a_token_as_the_kubelet_does(self):
        home = pathlib.Path(self.access.make_account(self.name))
        before, token = os.readlink(home / "..data"), self.access.token(self.name)
        self.access.put_token(self.name, token)
        self.assertEqual((home / "token").read_text(encoding="ascii"), token)
        self.assertNotEqual(os.readlink(home / "..data"), before)
        self.assertEqual((home / "namespace").read_text(encoding="ascii"), NAMESPACE)
        self.assertTrue(self.access.accepts(token))

    def test_refuses_a_token_whose_time_is_over_and_takes_the_next(self):
        self.access.make_account(self.name)
        short = self.access.signed_token(self.name, 2)
        self.assertTrue(self.access.accepts(short))
        self.access.until_refused(short)
        self.assertTrue(self.access.accepts(self.access.token(self.name)))

    def test_refuses_tokens_of_an_account_that_was_made_again(self):
        self.access.make_account(self.name)
        old = self.access.text(f"accounts/{self.name}/token")
        self.access.recreate_account(self.name)
        self.access.until_refused(old)
        self.assertTrue(self.access.accepts(self.access.token(self.name)))

    def test_takes_a_role_away_and_gives_it_back(self):
        self.access.make_account(self.name)
        token = self.access.text(f"accounts/{self.name}/token")
        self.access.take_away(self.name)
        self.assertEqual(self.access.request("GET", self.access.leases(), token=token)[0], 403)
        self.access.give_back(self.name)
        self.assertEqual(self.access.request("GET", self.access.leases(), token=token)[0], 200)

    def test_control_does_it_for_tests_in_other_languages(self):
        def control(*words):
            done = subprocess.run([sys.executable, "-B", str(HERE / "control.py"), *words], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return done.stdout.strip()

        home = control("account", self.name)
        token = control("short-token", self.name, "30")
        control("put", self.name, token)
        self.assertEqual((pathlib.Path(home) / "token").read_text(encoding="ascii"), token)
        self.assertTrue(self.access.accepts(token))
        control("recreate", self.name)
        control("await-refused", token)

    def test_refuses_a_manifest_with_a_field_that_it_does_not_know(self):
        good = self.access.manifest("role.yaml")
        self.access.apply(good, dry_run=True)
        with self.assertRaisesRegex(ToolError, "unknown field|field not declared"):
            self.access.apply(good.replace("verbs:", "verb:"), dry_run=True)


class Example(unittest.TestCase):
    """examples/kubernetes"""

    def setUp(self):
        self.access = Access.beside()
        self.text = (ROOT / "examples" / "kubernetes" / "scheduler.yaml").read_text(encoding="utf-8")

    def test_the_servers_take_the_manifests_of_the_example(self):
        self.access.apply(self.text, dry_run=True)
        with self.assertRaises(ToolError):
            self.access.apply(self.text.replace("serviceAccountName", "serviceAccountNames"), dry_run=True)

    def test_the_servers_take_the_sidecar(self):
        sidecar = (ROOT / "examples" / "container" / "sidecar.yaml").read_text(encoding="utf-8")
        self.access.apply(sidecar, dry_run=True)
        with self.assertRaises(ToolError):
            self.access.apply(sidecar.replace("initContainers", "initContainer"), dry_run=True)

    def test_the_groups_file_of_the_example_elects(self):
        """In a pod the store needs no keys; here the server is in a kubeconfig file."""
        lines = re.search(r"^  group\.yaml: \|\n((?:    .*\n)+)", self.text, re.M).group(1)
        store = kubernetes_server.store_section(None)
        group = re.sub(r"^    ", "", lines, flags=re.M)
        self.assertIn("store: { type: kubernetes }", group)
        pod = f"example-{os.getpid()}"
        self.access.make_pod(pod, {"app": "billing-scheduler"})
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "group.yaml"
            file.write_text(group.replace("{ type: kubernetes }", store), encoding="utf-8")
            done = subprocess.run([os.environ["TENURE_PROGRAM"], "run", "--config", file, "--once", "--", "/bin/echo", "elected"],
                                  env={**os.environ, "HOSTNAME": "pod-1", "POD_NAME": pod}, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "elected\n"), done.stderr)


class OwnServer(unittest.TestCase):
    """scripts/kubernetes_local."""

    def setUp(self):
        try:
            kubernetes_server.prepare()
        except kubernetes_server.Missing as error:
            self.skipTest(str(error))

    def test_runs_a_command_and_ends_the_server_after_it(self):
        done = subprocess.run([SCRIPT, "--", *SHOW], env=dict(clean(), KUBECONFIG="mine"), capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        seen = json.loads(done.stdout)
        self.assertNotIn("KUBECONFIG", seen)
        self.assertFalse(kubernetes_server.answers(seen[kubernetes_server.ENDPOINT]))
        for pid in seen["TENURE_TEST_KUBERNETES_PIDS"].split(","):
            self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_exits_with_the_commands_code(self):
        given = {**clean(), kubernetes_server.ENDPOINT: "/nowhere/kubeconfig"}
        for command, code in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137), (["/nowhere"], 127)):
            done = subprocess.run([SCRIPT, "--", *command], env=given, capture_output=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, code, command)

    def test_ends_with_a_killed_script(self):
        with subprocess.Popen([SCRIPT], env=clean(), stdout=subprocess.PIPE, text=True) as script:
            kubeconfig = script.stdout.readline().split()[1]
            access = Access(pathlib.Path(kubeconfig).parent)
            pids = access.environment()["TENURE_TEST_KUBERNETES_PIDS"].split(",")
            self.assertTrue(kubernetes_server.answers(kubeconfig))
            script.send_signal(signal.SIGKILL)
            script.wait(PATIENCE_S)
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "the server's end")

    def test_beside_gives_settings_to_the_server(self):
        show = "import os, sys; sys.path.insert(0, sys.argv[1]); from access import Access; print(Access.beside().must('POST', " \
               "Access.leases(), {'metadata': {'name': 'x'}, 'spec': {'strategy': 'OldestEmulationVersion'}})['spec'])"
        done = subprocess.run([sys.executable, "-B", str(HERE / "beside.py"), "--set", "feature-gates=CoordinatedLeaderElection=true",
                               "--set", "runtime-config=coordination.k8s.io/v1beta1=true", "--", sys.executable, "-B", "-c", show, str(HERE)],
                              env=clean(), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual((done.stdout.strip(), done.returncode), ("{'strategy': 'OldestEmulationVersion'}", 0), done.stderr)

    def test_keeps_its_leases_and_its_port_when_it_is_started_again(self):
        from kubernetes_cluster import Cluster
        with Cluster(kubernetes_server.prepare()) as cluster:
            access = cluster.access
            access.must("POST", access.leases(), {"metadata": {"name": "kept"}})
            cluster.server.restart()
            self.assertEqual(access.request("GET", access.leases("kept"), token=access.user_token("tenure"))[0], 200)


class Missing(unittest.TestCase):
    """Where the server was never built, nothing is built for a test."""

    def test_the_launcher_says_that_a_test_is_skipped_and_why(self):
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as home:
            launcher = f'"{sys.executable}" -B "{ROOT / "tests/servers/launcher.py"}" kubernetes "{home}"'
            (pathlib.Path(home) / "CTestTestfile.cmake").write_text(f"add_test(one {launcher} -- true)\n"
                                                                    "set_tests_properties(one PROPERTIES SKIP_RETURN_CODE 77)\n",
                                                                    encoding="utf-8")
            done = subprocess.run(["ctest", "-V"], cwd=home, env={**clean(), "TENURE_CACHE": cache}, capture_output=True, text=True,
                                  timeout=PATIENCE_S, check=False)
        self.assertIn("kube-apiserver is not there; scripts/kubernetes_local --build makes it", done.stdout)
        self.assertRegex(done.stdout, r"one \.+\*\*\*Skipped")

    def build(self, cache, go):
        """scripts/kubernetes_local --build with this script in the place of Go: its exit code and what it says."""
        with tempfile.TemporaryDirectory() as tools:
            program = pathlib.Path(tools) / "go"
            program.write_text(f"#!/bin/sh\n{go}\n", encoding="ascii")
            program.chmod(0o755)
            done = subprocess.run([SCRIPT, "--build"], env={**clean(), "TENURE_CACHE": cache, "PATH": f"{tools}:{os.environ['PATH']}"},
                                  capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        return done.returncode, done.stderr.strip()

    def test_the_script_says_what_to_do_without_go(self):
        with tempfile.TemporaryDirectory() as cache:
            self.assertEqual(self.build(cache, "echo go1.19.8"),
                             (77, "kubernetes_local: Go 1.26 or later is not there, which builds kube-apiserver"))

    GO = """case "$*" in
      *GOVERSION*) echo go1.26.0 ;;
      *"list -m"*) echo v1.37.2 ;;
      *"list -deps"*) echo "go: downloading one" >&2; echo a; echo b ;;
      *kube-apiserver) echo a >&2; echo b >&2; mkdir -p "$GOCACHE/x" "$GOMODCACHE/x"; %s ;;
      *) for out; do [ "$before" = -o ] && echo program >"$out"; before=$out; done ;;
    esac"""

    def test_the_script_says_how_far_it_is_and_keeps_the_program_alone(self):
        keep = 'for out; do [ "$before" = -o ] && echo program >"$out"; before=$out; done; true'
        with tempfile.TemporaryDirectory() as cache:
            code, said = self.build(cache, self.GO % keep)
            self.assertEqual(code, 0, said)
            self.assertRegex(said, r"^Building kube-apiserver v1\.37\.2 with Go, once; .*\n1 modules fetched\n2 of 2 packages compiled$")
            self.assertEqual(sorted(os.listdir(f"{cache}/kubernetes/server")), [".made-from", "kube-apiserver"])

    def test_the_script_says_why_a_build_failed_and_keeps_nothing(self):
        with tempfile.TemporaryDirectory() as cache:
            code, said = self.build(cache, self.GO % "echo 'dial tcp: no such host' >&2; exit 1")
            self.assertEqual((code, os.listdir(f"{cache}/kubernetes")), (1, ["server.lock"]))
        self.assertRegex(said, r"kubernetes_local: Building kube-apiserver failed:\na\nb\ndial tcp: no such host\nIf https://proxy.golang.org")


if __name__ == "__main__":
    unittest.main()
