"""The section `routing`: `tenure run` keeps the label of the leader on the pod that leads, through crashes, freezes and rejections.

The pods are plain objects of the API server. The candidates are processes here, each with the name of one of them. They are
the service account "tenure", which has the rights of config/kubernetes/routing.yaml, or the user "tenure", which has not.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "etcd"), str(HERE.parents[1] / "scripts")]
from access import ENDPOINT, Access
from etcd_cluster import wait_until

PROGRAM = os.environ.get("TENURE_PROGRAM", "")
ROLE = "tenure.dev/role"
TOKEN = "tenure.dev/token"
LEASE_S = 3
BUSY_S = 3  # what a busy machine may cost


class Candidate:
    """`tenure run` as in a pod."""

    def __init__(self, test, pod, group, context):
        file = pathlib.Path(test.directory) / f"{pod}.yaml"
        file.write_text(f"group: {group}\nlease: {{ duration: {LEASE_S}s, heartbeat: 500ms }}\n"
                        f"store: {{ type: kubernetes, kubeconfig: \"{os.environ[ENDPOINT]}\", context: {context} }}\n"
                        f"routing: {{ pod: \"${{POD_NAME}}\", selector: \"app={group}\" }}\n", encoding="utf-8")
        self.file = str(file)
        self.environment = {**os.environ, "POD_NAME": pod, "HOSTNAME": pod}
        self._log = pathlib.Path(test.directory) / f"{pod}.log"
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen([PROGRAM, "run", "--config", self.file, "--", "/bin/sleep", "1000"],
                                            env=self.environment, stdout=log, stderr=log)
        test.addCleanup(self.end)

    def log(self):
        return self._log.read_text(encoding="utf-8")

    def check(self):
        done = subprocess.run([PROGRAM, "check", "--connect", "--config", self.file], env=self.environment, capture_output=True,
                              text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def end(self):
        self.process.kill()
        self.process.wait()


class Routing(unittest.TestCase):
    made = 0  # the tests share a namespace

    def setUp(self):
        self.access = Access.beside()
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        Routing.made += 1
        self.group = f"routing-{os.getpid()}-{self.made}"
        wait_until(lambda: self.access.request("GET", self.access.pods(), token=self.access.text("accounts/tenure/token"))[0] == 200,
                   "the rights on pods")

    def candidate(self, number, group=None, context="account"):
        group = group or self.group
        pod = f"{group}-{number}"
        self.access.make_pod(pod, {"app": group})
        return Candidate(self, pod, group, context)

    def labelled(self, group=None):
        """The pods to which a Service would lead: name -> token."""
        selector = f"app%3D{group or self.group}%2C{ROLE.replace('/', '%2F')}%3Dleader"
        items = self.access.must("GET", f"{self.access.pods()}?labelSelector={selector}")["items"]
        return {pod["metadata"]["name"]: int(pod["metadata"]["annotations"][TOKEN]) for pod in items}

    def await_label(self, *numbers, group=None):
        """Returns the token of the only pod."""
        group = group or self.group
        names = {f"{group}-{number}" for number in numbers}
        wait_until(lambda: set(self.labelled(group)) == names, f"the label at {names} alone")
        return next(iter(self.labelled(group).values()), 0)

    def write_label(self, number, token):
        """As a former leader does whose write was long on its way."""
        self.access.must("PATCH", self.access.pods(f"{self.group}-{number}"),
                         {"metadata": {"labels": {ROLE: "leader"}, "annotations": {TOKEN: str(token)}}},
                         headers={"Content-Type": "application/merge-patch+json"})

    def test_the_leaders_pod_has_the_label_and_hands_it_over(self):
        first = self.candidate(0)
        token = self.await_label(0)
        second = self.candidate(1)
        first.process.send_signal(signal.SIGTERM)
        self.assertEqual(first.process.wait(60), 0, first.log())
        self.assertGreater(self.await_label(1), token)
        second.process.send_signal(signal.SIGTERM)
        self.assertEqual(second.process.wait(60), 0, second.log())
        self.assertEqual(self.labelled(), {}, "who leaves in order takes the label along")

    def test_a_successor_takes_the_label_from_a_leader_that_was_killed(self):
        first = self.candidate(0)
        token = self.await_label(0)
        self.candidate(1)
        first.end()
        self.assertGreater(self.await_label(1), token)

    def test_a_former_leader_that_was_frozen_does_not_get_the_label_back(self):
        first = self.candidate(0)
        token = self.await_label(0)
        self.candidate(1)
        first.process.send_signal(signal.SIGSTOP)
        self.assertGreater(self.await_label(1), token)
        first.process.send_signal(signal.SIGCONT)
        wait_until(lambda: "revoked (expired" in first.log(), "the former leader to see it")
        self.await_label(1)
        self.write_label(0, token)
        written = time.monotonic()
        self.await_label(1)
        self.assertLess(time.monotonic() - written, LEASE_S + BUSY_S, "the next look is within a lease")

    def test_without_the_rights_the_election_goes_on_and_the_log_says_what_is_missing(self):
        first = self.candidate(0, context="tenure")
        wait_until(lambda: "The right to list pods is missing" in first.log(), "the warning")
        self.assertIn("the job starts", first.log())
        self.assertEqual(first.log().count("The right to"), 1)
        second = self.candidate(1, context="tenure")
        first.process.send_signal(signal.SIGTERM)
        self.assertEqual(first.process.wait(60), 0, first.log())
        wait_until(lambda: "the job starts" in second.log(), "the second term")
        self.assertEqual(self.labelled(), {})

    def test_groups_with_other_selectors_do_not_disturb_each_other(self):
        other = f"{self.group}-x"
        self.candidate(0)
        self.candidate(0, group=other)
        self.await_label(0)
        self.await_label(0, group=other)
        second = self.candidate(1, group=other)
        self.write_label(0, 1)
        self.await_label(0)
        self.await_label(0, group=other)
        self.assertIsNone(second.process.poll())

    def test_check_names_the_rights_that_are_missing(self):
        without, having = self.candidate(0, context="tenure"), self.candidate(1)
        code, said = without.check()
        self.assertEqual(code, 83, said)
        self.assertIn("the user may not get, list, patch pods there, which routing needs. Bind a Role with the verbs get, list and "
                      "patch on pods", said)
        code, said = having.check()
        self.assertEqual(code, 0, said)


if __name__ == "__main__":
    unittest.main()
