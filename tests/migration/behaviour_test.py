"""Rows about what candidates do: requests, faults of the service, pauses, deaths, and what the work is told."""

import json
import pathlib
import signal
import sys
import time
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from record_test import Watcher
from row_case import FaultProxy, RowTest, the_endpoint, wait_until
from lateness import Lateness

READS = {"GetItem", "BatchGetItem"}


class Behaviour(RowTest):
    def setUp(self):
        super().setUp()
        self.make_table()

    def proxied(self):
        return self.enterContext(FaultProxy(the_endpoint()))

    def usurp(self, owner="usurper#0"):
        """Another client takes the row by force: it does not use conditions."""
        self.update(self.group, ownerName={"S": owner}, recordVersionNumber={"S": str(uuid.uuid4())},
                    leaseDuration={"S": str(self.lease_ms)})

    def test_the_lock_is_held_as_long_as_the_program_runs_and_is_free_then(self):
        leader = self.start(self.yaml(lease="{ duration: 4s, heartbeat: 300ms }"), "--once", job="sleep 5")
        leader.says("elected with")
        versions = set()
        while leader.process.poll() is None:
            if item := self.item(self.group):
                self.assertTrue("isReleased" not in item or leader.count("ended with"), item)
                versions.add(item["recordVersionNumber"]["S"])
            time.sleep(0.05)
        self.assertGreater(len(versions), 5)
        self.assertIn("isReleased", self.item(self.group))
        self.assertEqual((leader.process.returncode, self.token()), (0, 1))

    def test_who_loses_the_row_is_told_within_a_heartbeat_once_and_why(self):
        self.lease_ms, self.heartbeat_ms = 20000, 1000
        leader = self.started(self.yaml(), "--once", job="exec sleep 60")
        leader.says("the job starts as process")
        self.usurp()
        began = time.monotonic()
        with Lateness(lambda: self.item(self.group)) as lateness:
            self.assertEqual(leader.process.wait(60), 81, leader.log)
            # A heartbeat, a round trip, and the end of the job.
            self.assertLess(time.monotonic() - began, 3 + 4 * lateness.worst())
        self.assert_one(r"revoked \(lost", leader.log)
        self.assertEqual(self.text_of(self.group, "ownerName"), "usurper#0", "it took the row back, or released it")

    def test_a_busy_lock_is_an_exit_code_at_once_and_names_the_holder(self):
        self.lease_ms, self.heartbeat_ms = 60000, 20000  # a machine without time needs seconds to start a program
        self.started(self.yaml("alice"))
        touched = self.directory / "touched"
        began = time.monotonic()
        done = self.tenure("run", "--config", self.yaml("bob"), "--once", "--wait", "0s", "--", "touch", str(touched))
        self.assertLess(time.monotonic() - began, self.heartbeat_ms / 1000)
        self.assertEqual(done.returncode, 82)
        self.assertRegex(done.stderr, r"busy: alice \(\w+\) leads rows with fencing token 1")
        self.assertFalse(touched.exists())

    def test_the_work_runs_once_and_its_failure_passes_through(self):
        for code in (0, 3):
            leader = self.start(self.yaml(f"c{code}"), "--once", job=f"echo x >> {self.directory}/ran; exit {code}")
            self.assertEqual(leader.process.wait(60), code)
            self.assertIn("isReleased", self.item(self.group))
        self.assertEqual((self.directory / "ran").read_text(), "x\nx\n")

    def test_errors_for_most_of_the_lease_are_told_and_cost_nothing(self):
        proxy = self.proxied()
        leader = self.started(self.yaml(endpoint=proxy.endpoint, lease="{ duration: 10s, heartbeat: 2s }"))
        before = self.text_of(self.group, "recordVersionNumber")
        wait_until(lambda: self.text_of(self.group, "recordVersionNumber") != before, "a renewal")
        proxy.add("error", operation="UpdateItem", name="InternalServerError")
        time.sleep(6)  # 60 % of the lease
        proxy.clear()
        leader.says("in doubt: ")
        leader.says("no longer in doubt: the lease is renewed")
        renewed = self.text_of(self.group, "recordVersionNumber")
        wait_until(lambda: self.text_of(self.group, "recordVersionNumber") != renewed, "a renewal")
        self.assertEqual((leader.count("revoked"), self.token()), (0, 1), leader.log)

    def test_an_acquisition_is_three_requests_a_renewal_one_a_release_one(self):
        proxy = self.proxied()
        leader = self.started(self.yaml(endpoint=proxy.endpoint))
        proxy.wait_for(lambda log: sum(e["operation"] == "UpdateItem" for e in log) >= 4)
        self.assertEqual(leader.finish(signal.SIGTERM), 0)
        seen = [entry["operation"] for entry in proxy.log()]
        operations = [one for one in seen if one != "DescribeTimeToLive"]  # of the check of the table, whenever it comes
        self.assertLessEqual(len(seen) - len(operations), 1, seen)
        won = operations.index("TransactWriteItems")
        self.assertEqual(operations.count("TransactWriteItems"), 1)
        self.assertEqual(operations[won - 1], "BatchGetItem")  # the acquisition's own; before it, those that find nothing
        self.assertNotIn("BatchGetItem", operations[won:])
        self.assertEqual(operations[won + 1], "GetItem")  # the read that proves it
        release = len(operations) - 1 - operations[::-1].index("UpdateItem")
        self.assertEqual({"UpdateItem"}, set(operations[won + 2:release + 1]), operations)
        self.assertIn(operations[release + 1:], ([], ["GetItem"]), operations)
        self.assertLessEqual(operations[:won].count("DescribeTable"), 2)
        self.assertNotIn("ListTables", operations)

    def requests_in_a_window(self, proxy):
        """The requests of about five seconds, and how many heartbeats that was by the clock."""
        proxy.forget()
        began = time.monotonic()
        time.sleep(5)
        log = proxy.log()
        return log, (time.monotonic() - began) * 1000 / self.heartbeat_ms

    def test_a_standby_reads_once_a_heartbeat_consistently_and_is_quiet(self):
        proxy = self.proxied()
        proxy.keep_bodies()
        self.started(self.yaml())
        standby = self.start(self.yaml("b", endpoint=proxy.endpoint))
        standby.says("the leader is a (")
        lines = len(standby.log.splitlines())
        # The first window may be spent on learning the holder's phase, and each heartbeat that a busy machine delays
        # costs a second read. A candidate that polls more often than it has to does so in every window.
        rates = []
        while len(rates) < 3 and (not rates or rates[-1] > 1.5):
            log, beats = self.requests_in_a_window(proxy)
            reads = [entry for entry in log if entry["operation"] == "GetItem"]
            self.assertEqual({"GetItem"}, {e["operation"] for e in log} - {"DescribeTable", "DescribeTimeToLive"}, log)
            for entry in reads:
                body = entry["body"] if isinstance(entry["body"], dict) else json.loads(entry["body"])
                self.assertIs(body["ConsistentRead"], True)
            rates.append(len(reads) / beats)
            self.assertGreater(rates[-1], 1 / 3)
        self.assertLessEqual(rates[-1], 1.5, rates)
        self.assertLessEqual(len(standby.log.splitlines()) - lines, 1, standby.log)

    def test_who_was_paused_past_its_lease_takes_nothing_back(self):
        frozen = self.started(self.yaml("a"), "--once")
        watcher = Watcher(self, self.group)
        other = self.start(self.yaml("b"))
        other.says("the leader is a (")
        frozen.signal(signal.SIGSTOP)
        other.says("elected with fencing token 2")
        owner = self.text_of(self.group, "ownerName")
        frozen.signal(signal.SIGCONT)
        frozen.says("revoked (")
        self.assertEqual(frozen.process.wait(60), 81, frozen.log)
        version = self.text_of(self.group, "recordVersionNumber")
        wait_until(lambda: self.text_of(self.group, "recordVersionNumber") != version, "a renewal by the successor")
        self.assertEqual((self.text_of(self.group, "ownerName"), self.token()), (owner, 2))
        self.assertEqual(other.count("revoked"), 0)
        owners = [state["ownerName"]["S"][:2] for state in watcher.end()]
        self.assertEqual("".join(owner for n, owner in enumerate(owners) if n == 0 or owners[n - 1] != owner), "a#b#",
                         "there was a state between the two")

    def test_a_renewal_that_arrives_after_the_lease_takes_nothing_back(self):
        proxy = self.proxied()
        slow = self.started(self.yaml("a", endpoint=proxy.endpoint))
        other = self.start(self.yaml("b"))
        other.says("the leader is a (")
        late = self.lease_ms / 1000 + 2
        proxy.keep_bodies()
        proxy.forget()
        proxy.add("hold", operation="UpdateItem", seconds=late, count=1)
        wait_until(lambda: proxy.rules()[0]["applied"], "the renewal that is held up")
        held = time.monotonic()
        slow.process.kill()
        other.says("elected with fencing token 2")
        watcher = Watcher(self, self.group)
        time.sleep(max(0.0, held + late + 2 * self.heartbeat_ms / 1000 - time.monotonic()))
        sent = str([entry["body"] for entry in proxy.log() if entry["operation"] == "UpdateItem"])
        for state in watcher.end():
            self.assertNotIn(state["recordVersionNumber"]["S"], sent, "the late renewal was applied")
        self.assertEqual((other.count("revoked"), self.token()), (0, 2), other.log)
        self.assertTrue(self.text_of(self.group, "ownerName").startswith("b#"))

    def test_a_lease_that_ran_out_never_comes_back_it_is_won_anew_with_a_higher_token(self):
        frozen = self.started(self.yaml("a"))
        frozen.signal(signal.SIGSTOP)
        time.sleep(self.lease_ms / 1000 + 0.3)
        frozen.signal(signal.SIGCONT)
        frozen.says("revoked (")
        # storeUnreachable: it was frozen while an answer of the store was due.
        self.assertRegex(frozen.log, r"revoked \((expired|storeUnreachable)")
        frozen.says("elected with fencing token 2")

    def test_a_killed_holder_is_followed_when_its_lease_is_over_and_not_before(self):
        dead = self.started(self.yaml("a"))
        version = self.text_of(self.group, "recordVersionNumber")
        wait_until(lambda: self.text_of(self.group, "recordVersionNumber") != version, "a renewal")
        dead.process.kill()
        dead.process.wait()
        killed = time.monotonic()
        again = self.start(self.yaml("a"))  # it has the same name and is another candidate
        again.says("the leader is a (")
        self.assertEqual(self.token(), 1)
        time.sleep(max(0.0, killed + self.lease_ms / 1000 + 0.2 - time.monotonic() - 0.9))
        again.says("elected with fencing token 2")
        took = time.monotonic() - killed
        self.assertGreater(took, (self.lease_ms - self.heartbeat_ms * 1.2) / 1000)
        print(f"taken over {took:.2f} s after the kill; the lease is {self.lease_ms / 1000} s")

    def test_the_row_of_a_dead_holder_stays_and_is_shown_as_stale(self):
        config = self.yaml()
        self.started(config).process.kill()
        time.sleep(self.lease_ms / 1000 + 0.5)
        self.assertNotIn("isReleased", self.item(self.group))
        status = self.tenure("status", "--config", config)
        self.assertEqual(status.returncode, 84, status.stdout)
        self.assertIn("silent", status.stdout)

    def test_the_status_names_the_holder_and_after_the_release_nobody(self):
        config = self.yaml("alice")
        leader = self.started(config)
        status = json.loads(self.tenure("status", "--json", "--config", config).stdout)
        self.assertEqual((status["state"], status["leader"]["name"], status["fencing_token"]), ("held", "alice", 1))
        self.assertEqual(status["leader"]["id"], self.text_of(self.group, "ownerName"))
        leader.finish(signal.SIGTERM)
        after = self.tenure("status", "--json", "--config", config)
        self.assertEqual((after.returncode, json.loads(after.stdout)["leader"]), (84, None))

    def test_throttling_of_the_acquisition_is_tried_again(self):
        proxy = self.proxied()
        proxy.set_rules([{"action": "error", "name": "ThrottlingException", "operation": "TransactWriteItems", "count": 3}])
        self.started(self.yaml(endpoint=proxy.endpoint))
        self.assertEqual(proxy.rules()[0]["applied"], 3)

    def test_eight_that_start_without_a_table_elect_one(self):
        self.call("DeleteTable")
        candidates = [self.start(self.yaml(f"c{n}")) for n in range(8)]
        for candidate in candidates:
            candidate.says("elected with" if self.elected(candidates) is candidate else "the leader is c")
        self.assertEqual([None] * 8, [candidate.process.poll() for candidate in candidates])
        self.assertEqual(sum(candidate.count("elected with") for candidate in candidates), 1)

    @staticmethod
    def elected(candidates):
        return wait_until(lambda: next((c for c in candidates if c.count("elected with")), None), "a leader")

    def test_a_deleted_row_is_no_success_and_the_token_goes_on_rising(self):
        leader = self.started(self.yaml())
        self.call("DeleteItem", Key={"key": {"S": self.group}})
        leader.says("revoked (recordMissing")
        leader.says("elected with fencing token 2")
        self.call("DeleteTable")
        leader.says("revoked (", 2)
        wait_until(lambda: self.table in leader.log[leader.log.rindex("revoked ("):], "the name of the table")
        self.assertNotEqual(self.call("DescribeTable", check=False).get("Table", {}).get("TableStatus"), "ACTIVE")
        self.assertEqual(leader.count("elected with"), 2)

    def test_two_of_one_name_are_two(self):
        first = self.started(self.yaml("twin"))
        second = self.start(self.yaml("twin"))
        second.says("the leader is twin (")
        owner = self.text_of(self.group, "ownerName")
        self.assertEqual(second.finish(signal.SIGTERM), 0)
        self.assertEqual(self.text_of(self.group, "ownerName"), owner)
        self.assertNotIn("isReleased", self.item(self.group))
        self.assertEqual(first.count("revoked"), 0)

    def test_unavailability_is_not_believed_through(self):
        proxy = self.proxied()
        leader = self.started(self.yaml(endpoint=proxy.endpoint))
        lateness = self.enterContext(Lateness(lambda: None))
        began = time.monotonic()
        proxy.add("error", name="ServiceUnavailable")
        leader.says("revoked (storeUnreachable")
        self.assertLess(time.monotonic() - began, self.lease_ms / 1000 + 4 * lateness.worst())
        time.sleep(max(0.0, began + 2 * self.lease_ms / 1000 - time.monotonic()))
        self.assertEqual(leader.count("elected with"), 1)

    def test_an_error_on_the_release_is_tried_again(self):
        proxy = self.proxied()
        leader = self.started(self.yaml(endpoint=proxy.endpoint))
        proxy.set_rules([{"action": "error", "name": "InternalServerError", "operation": "UpdateItem", "count": 1,
                          "contains": "isReleased\\\":{\\\"S"}, {"action": "error", "operation": "UpdateItem", "count": 1}])
        self.assertEqual(leader.finish(signal.SIGTERM), 0)
        self.assertGreaterEqual(sum(rule["applied"] for rule in proxy.rules()), 1)
        self.assertIn("stopped (released)", leader.log)
        self.assertIn("isReleased", self.item(self.group))

    def test_a_release_that_nobody_answers_is_unknown_and_bounded(self):
        proxy = self.proxied()
        leader = self.started(self.yaml(endpoint=proxy.endpoint))
        proxy.listen(False)
        began = time.monotonic()
        self.assertEqual(leader.finish(signal.SIGTERM), 0)
        self.assertLess(time.monotonic() - began, 2 * self.lease_ms / 1000 + 2)
        self.assertNotIn("stopped (released)", leader.log)
        self.assertRegex(leader.log, r"stopped \((unknown|notHeld)\)")

    def test_a_flag_with_an_end_is_a_lease_that_a_job_holds(self):
        config = self.yaml(group="breaker-open")
        flag = self.started(config, "--once")
        self.assertEqual(self.tenure("status", "--config", config).returncode, 0)
        self.assertEqual(flag.finish(), 0)
        self.assertEqual(self.tenure("status", "--config", config).returncode, 84)

    def test_a_stop_frees_the_row_and_the_next_follows_within_a_poll(self):
        first = self.started(self.yaml("a"))
        second = self.start(self.yaml("b"))
        second.says("the leader is a (")
        first.signal(signal.SIGTERM)
        wait_until(lambda: "isReleased" in self.item(self.group) or self.token() == 2, "the release")
        began = time.monotonic()
        with Lateness(lambda: self.item(self.group)) as lateness:
            second.says("elected with fencing token 2")
            self.assertLess(time.monotonic() - began, 1.25 * self.heartbeat_ms / 1000 + 1 + 4 * lateness.worst())
        first.says("stopped (released)")  # its successor may have been quicker

    def test_two_names_are_held_at_once(self):
        both = [self.started(self.yaml("a", group=name)) for name in ("one", "two")]
        self.assertEqual([None, None], [candidate.process.poll() for candidate in both])
        self.assertEqual((self.token("one"), self.token("two")), (1, 1))

    def test_while_the_table_is_being_made_nobody_has_the_lock(self):
        self.call("DeleteTable")
        proxy = self.proxied()
        proxy.set_rules([{"action": "error", "name": "ResourceNotFoundException",
                          "operation": ["GetItem", "BatchGetItem", "TransactWriteItems", "PutItem", "UpdateItem"]},
                         {"action": "error", "name": "ResourceInUseException", "operation": "CreateTable"}])
        candidates = [self.start(self.yaml(f"c{n}", endpoint=proxy.endpoint)) for n in range(8)]
        for candidate in candidates:
            candidate.says("being created")
        time.sleep(2)
        self.assertEqual(sum(candidate.count("elected with") for candidate in candidates), 0)
        proxy.clear()
        self.elected(candidates)
        time.sleep(0.5)
        self.assertEqual(sum(candidate.count("elected with") for candidate in candidates), 1)


if __name__ == "__main__":
    unittest.main()
