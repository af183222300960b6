"""The judge of storms beside client-go, on invented events; and the candidate itself, on a real server."""

import os
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from access import NAMESPACE, Access
from client_go import CLIENT_GO, TENURE, ClientGo, command, faults_of, overlaps, rights_of
from etcd_cluster import wait_until
import kubernetes_server

LEASE = 3
SECOND = 10**9


def held(sent, answered, token, lease=LEASE):
    return {"e": "held", "t": sent * SECOND, "u": answered * SECOND, "until": (sent + lease) * SECOND, "token": token}


def client_go(*events, who="a"):
    return rights_of(CLIENT_GO, who, events)


def tenure(*at, token=6):
    return rights_of(TENURE, "tenure", [{"e": "led", "t": t * SECOND, "u": (t + 0.01) * SECOND, "token": token} for t in at])


class Judge(unittest.TestCase):
    def test_a_right_ends_a_lease_after_the_last_write_was_sent(self):
        right, = client_go(held(10, 11, 5), held(12, 14, 5))
        self.assertEqual((right.begin, right.last, right.token), (11 * SECOND, 15 * SECOND, 5))

    def test_a_release_ends_a_right_when_it_is_sent(self):
        right, = client_go(held(10, 11, 5), {"e": "released", "t": 12 * SECOND, "u": 13 * SECOND, "token": 5})
        self.assertEqual((right.last, right.released), (12 * SECOND, True))

    def test_a_write_that_was_answered_too_late_gives_no_right(self):
        self.assertEqual(client_go(held(10, 14, 5)), [])

    def test_what_client_go_says_itself_gives_no_right(self):
        right, = client_go(held(10, 11, 5), {"e": "led", "t": 20 * SECOND, "u": 20 * SECOND, "token": 5})
        self.assertEqual(right.last, 13 * SECOND)

    def test_rights_that_overlap_are_a_fault(self):
        self.assertRegex("".join(faults_of(tenure(12, 12.5) + client_go(held(10, 11, 5)))),
                         "^two had the right to lead: a token 5 .* and tenure token 6")
        self.assertRegex("".join(faults_of(client_go(held(12, 12.5, 7)) + tenure(12, 13))), "two had the right to lead")
        self.assertEqual(faults_of(client_go(held(10, 11, 5)) + tenure(13.1, 14)), [])

    def test_rights_of_client_go_alone_that_overlap_are_counted_only(self):
        rights = client_go(held(10, 11, 5)) + client_go(held(12, 12.5, 7), who="b")
        self.assertEqual((len(overlaps(rights)), faults_of(rights)), (1, []))

    def test_a_right_that_client_go_gave_away_is_no_fault_of_whoever_comes_next(self):
        holder, release = tenure(10, 14, token=6), [("b", {"e": "released", "t": 13 * SECOND, "u": 13.1 * SECOND})]
        self.assertEqual(faults_of(holder + client_go(held(13.2, 13.3, 7), who="b"), release), [])
        self.assertRegex("".join(faults_of(holder + client_go(held(12, 12.5, 7), who="b"), release)), "two had the right to lead",
                         "it came before that")
        self.assertRegex("".join(faults_of(holder + client_go(held(13.2, 13.3, 7), who="b"),
                                           [("b", {"e": "released", "t": 15 * SECOND})])), "two had the right to lead")

    def test_tokens_that_fall_are_a_fault(self):
        self.assertRegex("".join(faults_of(client_go(held(10, 11, 5)) + tenure(20, 21, token=4))), "tokens do not rise")


class Candidate(unittest.TestCase):
    """Beside the server that the launcher gave."""

    def setUp(self):
        try:
            self.program = kubernetes_server.peer()
        except kubernetes_server.NoGo as error:
            self.skipTest(str(error))
        self.access = Access.beside()
        self.name = f"client-go-{os.getpid()}-{self._testMethodName.replace('_', '-')}"[:63]

    def candidate(self, identity, *more):
        made = ClientGo(identity, command(self.program, self.access.kubeconfig, self.name, identity, LEASE, more=more))
        self.addCleanup(made.end)
        return made

    def lease(self):
        return self.access.must("GET", self.access.leases(self.name))

    def test_leads_and_gives_up_with_its_end(self):
        first = self.candidate("first")
        wait_until(first.leads, "the first leader")
        second = self.candidate("second")
        wait_until(lambda: any(event["e"] == "seen" for event in second.events), "the second to see it")
        first.end(signal.SIGTERM)
        wait_until(second.leads, "the second leader")
        second.end(signal.SIGTERM)
        rights = first.rights() + second.rights()
        self.assertEqual((len(rights), faults_of(rights)), (2, []))
        self.assertTrue(rights[0].released)
        self.assertEqual(self.lease()["spec"]["holderIdentity"], "")

    def test_takes_over_from_a_killed_one_after_the_lease(self):
        first = self.candidate("first")
        wait_until(first.leads, "the first leader")
        second = self.candidate("second")
        wait_until(lambda: any(event["e"] == "seen" for event in second.events), "the second to see it")
        first.end()
        wait_until(second.leads, "the second leader")
        before, after = first.rights()[0], second.rights()[0]
        self.assertEqual(faults_of([before, after]), [])
        self.assertGreater(after.token, before.token)

    def test_keeps_the_annotations_of_others(self):
        self.access.must("POST", self.access.leases(), {"metadata": {"name": self.name, "annotations": {"tenure.dev/token": "41"}},
                                                        "spec": {"holderIdentity": "", "leaseTransitions": 7}})
        first = self.candidate("first")
        wait_until(first.leads, "the first leader")
        self.assertEqual(self.lease()["metadata"]["annotations"], {"tenure.dev/token": "41"})
        self.assertEqual(self.lease()["spec"]["leaseTransitions"], 8)

    def test_says_what_it_believes_and_writes_nothing(self):
        self.access.must("POST", self.access.leases(), {"metadata": {"name": self.name, "namespace": NAMESPACE}, "spec": {
            "holderIdentity": "other", "leaseDurationSeconds": 1, "renewTime": "2026-01-01T00:00:00.000000Z"}})
        version = self.lease()["metadata"]["resourceVersion"]
        believer = self.candidate("believer", "-believe")
        wait_until(lambda: any(event["e"] == "would-take" for event in believer.events), "the believer to take the Lease for free")
        read = next(event for event in believer.events if event["e"] == "read")
        take = next(event for event in believer.events if event["e"] == "would-take")
        self.assertEqual(read["record"]["holderIdentity"], "other")
        self.assertGreater(take["t"] - read["t"], SECOND)
        self.assertEqual(self.lease()["metadata"]["resourceVersion"], version)

    def test_a_renewal_within_the_same_second_is_no_sign_of_life_to_it(self):
        def spec(micros):
            return {"holderIdentity": "other", "leaseDurationSeconds": 2, "renewTime": f"2026-01-01T00:00:00.{micros:06}Z"}

        lease = self.access.must("POST", self.access.leases(), {"metadata": {"name": self.name}, "spec": spec(0)})
        believer = self.candidate("believer", "-believe")
        micros, deadline = 0, time.monotonic() + 30
        while not any(event["e"] == "would-take" for event in believer.events) and time.monotonic() < deadline:
            micros += 1000
            lease = self.access.must("PUT", self.access.leases(self.name), {**lease, "spec": spec(micros)})
            time.sleep(0.05)
        self.assertTrue(any(event["e"] == "would-take" for event in believer.events))
        self.assertEqual(len([event for event in believer.events if event["e"] == "read"]), 1)

    def test_judges_a_frozen_one_by_its_writes(self):
        first = self.candidate("first", "-claim", "5ms")
        wait_until(first.leads, "the first leader")
        second = self.candidate("second")
        wait_until(lambda: any(event["e"] == "seen" for event in second.events), "the second to see it")
        first.freeze()
        wait_until(second.leads, "the second leader")
        first.thaw()
        wait_until(lambda: not first.leads(), "the first to learn of it")
        right = first.rights()[0]
        self.assertEqual(right.last, max(event["until"] for event in first.events if event["e"] == "held"))
        self.assertLess(right.last, next(event["t"] for event in first.events if event["e"] == "revoked"))


if __name__ == "__main__":
    unittest.main()
