"""Rows about the record: its contents in the table, what happens to it, and to rows that others wrote."""

import pathlib
import signal
import socket
import sys
import threading
import time
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from row_case import FaultProxy, RowTest, the_endpoint, wait_until

OWNED = {"ownerName": {"S": "somebody"}, "recordVersionNumber": {"S": "0f5e4c12-6d35-4c57-9b5e-7f4f7c1d2a3b"}}
TEN_YEARS_MS = 10 * 365 * 86400 * 1000


class Watcher:
    """Reads one row as fast as possible, and keeps each new state of it."""

    def __init__(self, test, key):
        self.states = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(test, key), daemon=True)
        self._thread.start()

    def _watch(self, test, key):
        while not self._stop.is_set():
            item = test.item(key)
            if not self.states or self.states[-1] != item:
                self.states.append(item)

    def end(self):
        self._stop.set()
        self._thread.join()
        return self.states


class Record(RowTest):
    def test_the_row_is_in_the_table_that_was_named(self):
        self.started(self.yaml())
        self.assertEqual(self.item(self.group)["key"], {"S": self.group})

    def test_the_lease_stands_in_the_row_in_milliseconds(self):
        for lease, text in (("5m", "300000"), ("30s", "30000"), ("20s", "20000"), ("2s", "2000")):
            self.started(self.yaml(group=f"g-{text}", lease=f"{{ duration: {lease} }}"))
            self.assertEqual(self.item(f"g-{text}")["leaseDuration"], {"S": text})

    def test_the_key_of_the_table_may_have_another_name(self):
        leader = self.started(self.yaml(store="partition_key: resourceId"))
        item = self.call("GetItem", Key={"resourceId": {"S": self.group}})["Item"]
        self.assertTrue(item["ownerName"]["S"].startswith("a#"))
        self.assertEqual(leader.finish(signal.SIGTERM), 0)
        refused = self.tenure("check", "--connect", "--config", self.yaml())
        self.assertEqual(refused.returncode, 83)
        self.assertIn('its partition key is "resourceId" (S), configured is "key" (S)', refused.stderr)

    def test_a_table_is_made_on_demand_or_with_the_capacity_that_is_asked_for(self):
        leader = self.started(self.yaml())
        self.assertEqual(self.call("DescribeTable")["Table"]["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
        self.assertEqual(leader.finish(signal.SIGTERM), 0)  # or it would lead in the next table too
        self.call("DeleteTable")
        self.started(self.yaml(store="read_capacity: 3\nwrite_capacity: 2\nttl_attribute: expires"))
        throughput = self.call("DescribeTable")["Table"]["ProvisionedThroughput"]
        self.assertEqual((throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]), (3, 2))
        wait_until(lambda: self.call("DescribeTimeToLive")["TimeToLiveDescription"].get("AttributeName") == "expires", "its TTL")

    def test_a_missing_table_is_told_by_name_and_nothing_runs_without_it(self):
        config = self.yaml(store="create_table: false")
        touched = self.directory / "touched"
        done = self.tenure("run", "--config", config, "--wait", "1s", "--", "touch", str(touched))
        self.assertEqual(done.returncode, 83, done.stderr)
        self.assertIn(self.table, done.stderr)
        self.assertFalse(touched.exists())
        waiting = self.start(config, job=f"touch {touched}")
        waiting.says(self.table)
        self.assertEqual(waiting.finish(signal.SIGTERM), 0)
        self.assertLess(waiting.count(" error ") + waiting.count(" warn "), 3, waiting.log)
        self.assertFalse(touched.exists())
        self.started(self.yaml())  # create_table is true by default
        self.assertEqual(self.call("DescribeTable")["Table"]["TableStatus"], "ACTIVE")

    def test_the_table_is_made_once_and_what_is_wrong_with_it_is_said(self):
        config, passive = self.yaml(), self.yaml(store="create_table: false")
        absent = self.tenure("check", "--connect", "--config", passive)
        self.assertEqual(absent.returncode, 83)
        self.assertIn(self.table, absent.stderr)
        for _ in range(2):
            self.assertEqual(self.tenure("check", "--connect", "--config", config).returncode, 0)
        first = self.call("DescribeTable")["Table"]["CreationDateTime"]
        self.assertEqual(self.tenure("check", "--connect", "--config", passive).returncode, 0)
        self.assertEqual(self.call("DescribeTable")["Table"]["CreationDateTime"], first)
        with FaultProxy(the_endpoint()) as proxy:
            proxy.add("error", operation="DescribeTable", name="AccessDeniedException",
                      message="User: arn:aws:iam::1:user/x is not authorized to perform: dynamodb:DescribeTable")
            denied = self.tenure("check", "--connect", "--config", self.yaml(endpoint=proxy.endpoint))
        self.assertEqual(denied.returncode, 83)
        for word in ("AccessDenied", "dynamodb:DescribeTable", self.table, "IAM policy"):
            self.assertIn(word, denied.stderr)

    def test_asking_about_a_table_that_is_not_there_does_not_make_it(self):
        for command in ("status", "resign"):
            done = self.tenure(command, "--config", self.yaml())
            self.assertEqual(done.returncode, 83, done.stderr)
            self.assertIn(self.table, done.stderr)
        self.assertIn("ResourceNotFoundException", self.call("DescribeTable", check=False)["__type"])

    def test_a_table_with_both_keys_is_made_as_configured(self):
        config = self.yaml(store="partition_key: lock\nsort_key: part\nsort_key_value: one")
        self.assertEqual(self.tenure("check", "--connect", "--config", config).returncode, 0)
        self.assertEqual(self.call("DescribeTable")["Table"]["KeySchema"],
                         [{"AttributeName": "lock", "KeyType": "HASH"}, {"AttributeName": "part", "KeyType": "RANGE"}])
        self.started(config)
        self.started(self.yaml(store="partition_key: lock\nsort_key: part\nsort_key_value: two"))  # another lease

    def test_time_to_live_is_a_number_of_seconds_that_moves_and_stays(self):
        leader = self.started(self.yaml(store="ttl_attribute: expires\nttl: 168h"))

        def expiry():
            value = self.item(self.group)["expires"]
            self.assertEqual(list(value), ["N"])
            self.assertEqual(len(value["N"]), 10)
            return int(value["N"])

        first = expiry()
        self.assertAlmostEqual(first, time.time() + 7 * 86400, delta=60)
        wait_until(lambda: expiry() > first, "the expiry to move with a renewal")
        self.assertEqual(leader.finish(signal.SIGTERM), 0)
        self.assertIn("isReleased", self.item(self.group))
        self.assertGreater(expiry(), first)

    def test_odd_names_are_locks_of_their_own(self):
        names = ["a/b", "a#b", "100 %", "\u00e9", "\u65e5\u672c", "it's", '\\"', "a\\\\nb", "A\u00df"]
        self.make_table()
        leaders = [self.started(self.yaml(f"c{n}", group=f'"{name}"')) for n, name in enumerate(names)]
        self.assertEqual([None] * len(names), [leader.process.poll() for leader in leaders])
        items = self.call("Scan", ConsistentRead=True)["Items"]
        held = {item["key"]["S"]: item["ownerName"]["S"].split("#")[0] for item in items
                if not item["key"]["S"].endswith("#fence")}
        self.assertEqual(sorted(held.values()), [f"c{n}" for n in range(len(names))])
        self.assertIn("\u65e5\u672c", held)
        self.assertIn("a\\nb", held)

    def test_the_row_shows_people_who_holds_it(self):
        configs = [self.file(f'group: g{n}\nlease: {{ duration: 2s }}\nstore: {{ type: dynamodb, table: {self.table}, '
                             f'region: us-east-1, endpoint: "{the_endpoint()}" }}\n') for n in range(2)]
        self.make_table()
        for config in configs:
            self.started(config)
        owners = {self.text_of(f"g{n}", "ownerName") for n in range(2)}
        self.assertEqual(len(owners), 2)
        for owner in owners:
            self.assertRegex(owner, rf"^{socket.gethostname()}#[0-9a-f]{{32}}$")
        shown = self.tenure("status", "--config", configs[0]).stdout
        for line in (socket.gethostname(), "fencing token  1", "lease          2s"):
            self.assertIn(line, shown)

    def test_each_heartbeat_is_a_new_version_in_the_format_of_the_protocol(self):
        proxy = self.enterContext(FaultProxy(the_endpoint()))
        proxy.keep_bodies()
        leader = self.started(self.yaml(endpoint=proxy.endpoint))
        watcher = Watcher(self, self.group)
        # A write that is slow to be answered is sent in a further copy, which is the same write.
        writes = lambda: list({str(e["body"]): e["at"] for e in reversed(proxy.log()) if e["operation"] == "UpdateItem"}.values())[::-1]
        wait_until(lambda: len(writes()) >= 11, "eleven writes")
        self.assertEqual(leader.finish(signal.SIGTERM), 0)
        wait_until(lambda: "isReleased" in watcher.states[-1], "the watcher to see the release")
        states = watcher.end()
        versions = [state["recordVersionNumber"]["S"] for state in states]
        self.assertEqual(len(versions), len(set(versions)), "a version came twice")
        for state in states:
            self.assertEqual(uuid.UUID(state["recordVersionNumber"]["S"]).version, 4)
            for name in ("ownerName", "leaseDuration", "recordVersionNumber"):
                self.assertEqual(list(state[name]), ["S"])
            self.assertEqual(state["leaseDuration"]["S"], str(self.lease_ms))
        self.assertEqual(["isReleased" in state for state in states], [False] * (len(states) - 1) + [True])
        self.assertEqual(states[-1]["isReleased"], {"S": "1"})
        at = writes()
        # The mean: a busy machine makes one gap longer and the next one shorter. The last write is the release.
        self.assertAlmostEqual((at[-2] - at[0]) / (len(at) - 2), self.heartbeat_ms / 1000, delta=0.1 * self.heartbeat_ms / 1000)

    def test_times_in_the_row_change_nothing(self):
        self.started(self.yaml())
        standby = self.start(self.yaml("b"))
        standby.says("the leader is a (")
        now = int(time.time() * 1000)
        for shift in (-TEN_YEARS_MS, TEN_YEARS_MS):
            self.update(self.group, tenureAcquiredMillis={"N": str(now + shift)}, tenureRenewedMillis={"N": str(now + shift)})
            time.sleep(self.lease_ms / 1000 * 0.75)
        time.sleep(self.lease_ms / 1000)
        self.assertEqual(self.token(), 1)
        self.assertEqual(standby.count("elected with"), 0)

    def test_the_billing_of_the_table_may_change(self):
        leader = self.started(self.yaml())
        self.call("UpdateTable", BillingMode="PROVISIONED", ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5})
        version = self.text_of(self.group, "recordVersionNumber")
        wait_until(lambda: self.text_of(self.group, "recordVersionNumber") != version, "a renewal")
        self.assertEqual(leader.count("revoked"), 0, leader.log)
        self.assertEqual(self.token(), 1)

    def test_attributes_of_others_survive_heartbeats_and_a_takeover(self):
        leader = self.started(self.yaml())
        self.update(self.group, note={"S": "theirs"}, count={"N": "7"})
        version = self.text_of(self.group, "recordVersionNumber")
        wait_until(lambda: self.text_of(self.group, "recordVersionNumber") != version, "a renewal")
        leader.process.kill()
        self.started(self.yaml("b"))
        item = self.item(self.group)
        self.assertEqual((item["note"], item["count"], item["tenureToken"]), ({"S": "theirs"}, {"N": "7"}, {"N": "2"}))

    def refuses(self, key, attribute, **row):
        """Such a row is not taken and not changed; its name and its fault are reported."""
        self.put(key, **row)
        before = self.item(key)
        done = self.tenure("run", "--config", self.yaml(group=key), "--wait", "1s", "--", "true")
        self.assertEqual(done.returncode, 83, done.stderr)
        self.assertIn(key, done.stderr)
        self.assertIn(attribute, done.stderr)
        self.assertEqual(self.item(key), before)

    def test_a_release_mark_with_another_value_is_told(self):
        self.make_table()
        for n, value in enumerate(({"S": "0"}, {"S": "true"}, {"BOOL": True})):
            self.refuses(f"mark-{n}", "isReleased", **OWNED, leaseDuration={"S": "2000"}, isReleased=value)

    def test_a_lease_that_cannot_be_is_told_and_the_row_is_left_alone(self):
        self.make_table()
        values = [{"S": "20s"}, {"N": "3000"}, {"S": "1" + "0" * 30}, {"S": "1" + "0" * 18}, {"S": "0"}, {"S": "-5"}, {"S": "20"}]
        for n, value in enumerate(values):
            with self.subTest(value=value):
                self.refuses(f"lease-{n}", "leaseDuration", **OWNED, leaseDuration=value)
        self.refuses("no-owner", "ownerName", recordVersionNumber={"S": "v"}, leaseDuration={"S": "2000"})
        self.refuses("text-data", "data", **OWNED, leaseDuration={"S": "2000"}, data={"S": "text"})

    def test_a_candidate_outlives_a_row_that_it_does_not_understand(self):
        self.make_table()
        self.put(self.group, **OWNED, leaseDuration={"S": "20s"})
        candidate = self.start(self.yaml())
        candidate.says("leaseDuration")
        self.assertEqual(candidate.count("elected with"), 0)
        self.call("DeleteItem", Key={"key": {"S": self.group}})
        candidate.says("elected with")


if __name__ == "__main__":
    unittest.main()
