"""Each fault of the proxy, between a client that checks details and a server that remembers what it received."""

import contextlib
import http.client
import http.server
import json
import pathlib
import socket
import sys
import threading
import time
import unittest
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import client
import rules
from waiting import wait_until

PATIENCE = 60
LONG = 3  # seconds of a fault in which a busy machine does something else


class Server(http.server.ThreadingHTTPServer):
    """Answers call N with {"n": N}, and remembers the operations and bodies."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen = []
        self.changed = threading.Condition()
        self.chunked = False
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def wait_for(self, count):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.seen) >= count, PATIENCE):
                raise TimeoutError(f"waited for {count} calls, saw {self.seen}")
        return self.seen


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server = self.server
        with server.changed:
            server.seen.append((self.headers.get("X-Amz-Target", "").rsplit(".", 1)[-1], body))
            answer = json.dumps({"n": len(server.seen), "filler": "x" * 100}).encode()
            server.changed.notify_all()
        self.send_response(200)
        self.send_header("X-Kept", "yes")
        if server.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in (answer[:10], answer[10:]):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    do_GET = do_POST

    def log_message(self, *_):
        pass


class Caller:
    """One kept-alive connection."""

    def __init__(self, url, timeout=PATIENCE):
        where = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(where.hostname, where.port, timeout=timeout)

    def send(self, operation="UpdateItem", body=b"{}"):
        self.connection.request("POST", "/", body, {"X-Amz-Target": f"DynamoDB_20120810.{operation}"})

    def receive(self):
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def call(self, operation="UpdateItem", body=b"{}"):
        self.send(operation, body)
        return self.receive()

    def close(self):
        self.connection.close()


NO_REPLY = (http.client.RemoteDisconnected, ConnectionResetError)


class FaultProxyTest(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.proxy = self.enterContext(client.FaultProxy(self.server.url, seed=42))
        self.caller = self.new_caller()

    def new_caller(self, timeout=PATIENCE):
        caller = Caller(self.proxy.endpoint, timeout)
        self.addCleanup(caller.close)
        return caller

    def operations(self):
        return [operation for operation, _ in self.server.seen]

    # -- without faults ------------------------------------------------------------------------------------------------

    def test_forwards_bodies_and_headers_as_they_are(self):
        body = bytes(range(256)) * 40
        self.caller.send("PutItem", body)
        answer = self.caller.connection.getresponse()
        self.assertEqual((answer.status, answer.headers["X-Kept"]), (200, "yes"))
        self.assertEqual(json.loads(answer.read())["n"], 1)
        self.assertEqual(self.server.seen, [("PutItem", body)])

    def test_keeps_connections_open(self):
        for n in range(1, 6):
            self.assertEqual(self.caller.call()[1]["n"], n)
        self.assertEqual(self.proxy.counters()["connections"], 1)

    def test_understands_chunked_bodies_of_both_sides(self):
        self.server.chunked = True
        self.caller.connection.request("POST", "/", iter([b'{"a"', b": 1}"]), {"X-Amz-Target": "D.GetItem"},
                                       encode_chunked=True)
        self.assertEqual(self.caller.receive()[1]["n"], 1)
        self.assertEqual(self.server.seen, [("GetItem", b'{"a": 1}')])

    def test_logs_operations_in_order_with_times(self):
        before = time.monotonic()
        for operation in ("GetItem", "TransactWriteItems", "UpdateItem"):
            self.caller.call(operation, b'{"TransactItems": [{"Update": {}}, {"Put": {}}]}')
        log = self.proxy.log()
        self.assertEqual([e["operation"] for e in log], ["GetItem", "TransactWriteItems", "UpdateItem"])
        self.assertEqual(log[1]["parts"], ["Update", "Put"])
        self.assertEqual([e["number"] for e in self.proxy.log(since=2)], [2, 3])
        times = [t for e in log for t in (e["at"], e["forwarded"][0], e["answered"])]
        self.assertEqual(times, sorted(times))
        self.assertLess(before, times[0])
        self.assertLess(times[-1], time.monotonic())
        self.assertEqual({e["status"] for e in log}, {200})
        self.proxy.forget()
        self.assertEqual(self.proxy.log(), [])

    def test_names_calls_that_are_not_of_dynamodb(self):
        self.caller.connection.request("POST", "/", b"Action=AssumeRole&Version=2011-06-15")
        self.caller.receive()
        self.caller.connection.request("GET", "/latest/meta-data/")
        self.caller.receive()
        self.assertEqual([e["operation"] for e in self.proxy.log()], ["AssumeRole", "GET /latest/meta-data/"])

    def test_keeps_bodies_only_when_told(self):
        self.caller.call("PutItem", b'{"secret": 1}')
        self.proxy.keep_bodies()
        self.caller.call("PutItem", b'{"a": 2}')
        self.assertEqual([e.get("body") for e in self.proxy.log()], [None, '{"a": 2}'])

    def test_counts(self):
        for operation in ("GetItem", "GetItem", "UpdateItem"):
            self.caller.call(operation)
        counters = self.proxy.counters()
        self.assertEqual((counters["requests"], counters["forwarded"], counters["replies"], counters["open"]), (3, 3, 3, 1))
        self.assertEqual(counters["operations"], {"GetItem": 2, "UpdateItem": 1})

    # -- which requests a rule meets -----------------------------------------------------------------------------------

    def test_a_rule_picks_by_operation_body_skip_and_count(self):
        self.proxy.add("error", operation=["Put*", "UpdateItem"], contains='"k7"', skip=1, count=1)
        statuses = [self.caller.call(operation, body)[0] for operation, body in (
            ("GetItem", b'{"k7"}'), ("UpdateItem", b'{"k8"}'), ("UpdateItem", b'{"k7"}'), ("PutItem", b'{"k7"}'),
            ("PutItem", b'{"k7"}'))]
        self.assertEqual(statuses, [200, 200, 200, 500, 200])
        self.assertEqual([(r["matched"], r["applied"]) for r in self.proxy.rules()], [(2, 1)])

    def test_chance_is_replayed_by_the_seed(self):
        def statuses(seed):
            with client.FaultProxy(self.server.url, seed) as proxy:
                proxy.add("error", probability=0.5)
                caller = Caller(proxy.endpoint)
                with contextlib.closing(caller):
                    return [caller.call()[0] for _ in range(64)]

        first = statuses(7)
        self.assertEqual(first, statuses(7))
        self.assertNotEqual(first, statuses(8))
        self.assertTrue(16 < first.count(500) < 48, first)

    def test_the_first_rule_that_is_no_delay_acts_alone(self):
        self.proxy.set_rules([{"action": "delay", "seconds": 0.05}, {"action": "delay", "seconds": 0.05},
                              {"action": "error", "name": "ThrottlingException"}, {"action": "drop_before"}])
        before = time.monotonic()
        self.assertEqual(self.caller.call()[0], 400)
        self.assertGreaterEqual(time.monotonic() - before, 0.1)
        self.assertEqual([r["applied"] for r in self.proxy.rules()], [1, 1, 1, 0])
        self.assertEqual(self.proxy.log()[0]["rules"], [1, 2, 3])

    def test_wrong_rules_are_refused_and_change_nothing(self):
        self.proxy.add("drop_before", operation="Never")
        for wrong in ({"action": "explode"}, {"action": "delay", "secnods": 1}, {}):
            with self.assertRaises(ValueError):
                self.proxy.set_rules([wrong])
        self.assertEqual([r["action"] for r in self.proxy.rules()], ["drop_before"])
        self.proxy.clear()
        self.assertEqual(self.proxy.rules(), [])

    # -- the faults ----------------------------------------------------------------------------------------------------

    def test_delay_before(self):
        self.proxy.add("delay", seconds=0.1)
        self.caller.call()
        entry = self.proxy.log()[0]
        self.assertGreaterEqual(entry["forwarded"][0] - entry["at"], 0.1)

    def test_delay_after(self):
        self.proxy.add("delay", seconds=LONG, when="after")
        self.caller.call()
        entry = self.proxy.log()[0]
        self.assertLess(entry["forwarded"][0] - entry["at"], LONG)
        self.assertGreaterEqual(entry["answered"] - entry["forwarded"][0], LONG)

    def test_a_delayed_request_is_not_delivered_when_its_client_has_gone(self):
        self.proxy.add("delay", seconds=LONG, count=1)
        self.caller.send()
        self.proxy.wait_for(lambda log: len(log) == 1)
        self.caller.close()
        self.new_caller().call("GetItem")
        wait_until(lambda: self.proxy.counters()["open"] == 1, "the end of the delay")
        self.assertEqual(self.operations(), ["GetItem"])

    def test_drop_before(self):
        self.proxy.add("drop_before", count=1)
        with self.assertRaises(NO_REPLY):
            self.caller.call()
        self.assertEqual(self.server.seen, [])
        self.assertEqual(self.new_caller().call()[1]["n"], 1)

    def test_drop_after(self):
        self.proxy.add("drop_after", count=1)
        with self.assertRaises(NO_REPLY):
            self.caller.call()
        self.assertEqual(self.operations(), ["UpdateItem"])
        self.assertEqual(self.new_caller().call()[1]["n"], 2)
        first = self.proxy.log()[0]
        self.assertEqual((first["status"], first["answered"]), (200, None))

    def test_drop_with_a_reset(self):
        self.proxy.add("drop_after", reset=True)
        with self.assertRaises(ConnectionResetError):
            self.caller.call()

    def test_drop_in_silence(self):
        for action, seen in (("drop_before", 0), ("drop_after", 1)):
            with self.subTest(action):
                self.proxy.set_rules([{"action": action, "close": False}])
                caller = self.new_caller(timeout=0.2)
                with self.assertRaises(TimeoutError):
                    caller.call()
                self.assertEqual(len(self.server.wait_for(seen)), seen)

    def test_duplicate_with_the_first_answer(self):
        self.proxy.add("duplicate", count=1)
        self.assertEqual(self.caller.call()[1]["n"], 1)
        self.assertEqual(self.server.wait_for(2)[0], self.server.seen[1])

    def test_duplicate_with_the_second_answer(self):
        self.proxy.add("duplicate", answer="second", count=1)
        self.assertEqual(self.caller.call()[1]["n"], 2)

    def test_a_duplicate_comes_late_if_told(self):
        self.proxy.add("duplicate", seconds=LONG, count=1)
        self.caller.call("PutItem")
        self.caller.call("GetItem")
        self.server.wait_for(3)
        self.assertEqual(self.operations(), ["PutItem", "GetItem", "PutItem"])

    def test_hold_delivers_though_the_client_has_gone(self):
        self.proxy.add("hold", seconds=LONG, count=1)
        self.caller.send("PutItem")
        self.proxy.wait_for(lambda log: len(log) == 1)
        self.caller.close()
        self.new_caller().call("GetItem")
        self.server.wait_for(2)
        self.assertEqual(self.operations(), ["GetItem", "PutItem"])

    def test_hold_answers_a_client_that_waits(self):
        self.proxy.add("hold", seconds=0.1)
        before = time.monotonic()
        self.assertEqual(self.caller.call()[0], 200)
        self.assertGreaterEqual(time.monotonic() - before, 0.1)

    def test_hold_can_close_at_once(self):
        self.proxy.add("hold", seconds=LONG, close=True)
        with self.assertRaises(NO_REPLY):
            self.caller.call()
        self.assertEqual(self.server.seen, [])
        self.server.wait_for(1)

    def test_cut(self):
        self.proxy.add("cut", count=2)
        self.caller.send()
        answer = self.caller.connection.getresponse()
        with self.assertRaises(http.client.IncompleteRead) as cut:
            answer.read()
        self.assertEqual(len(cut.exception.partial), cut.exception.expected + len(cut.exception.partial) >> 1)
        self.assertEqual(self.operations(), ["UpdateItem"])

    def test_cut_where_told(self):
        self.proxy.add("cut", bytes=3)
        self.caller.send()
        with self.assertRaises(http.client.IncompleteRead) as cut:
            self.caller.connection.getresponse().read()
        self.assertEqual(cut.exception.partial, b'{"n')

    def test_stall(self):
        self.proxy.add("stall", seconds=LONG, bytes=4)
        before = time.monotonic()
        self.caller.send()
        answer = self.caller.connection.getresponse()
        self.assertEqual(answer.read(4), b'{"n"')
        self.assertLess(time.monotonic() - before, LONG)
        rest = answer.read()
        self.assertGreaterEqual(time.monotonic() - before, LONG)
        self.assertTrue(rest.endswith(b'"}'))

    def test_error(self):
        for name, settings, status, kind in (
                ("ConditionalCheckFailedException", {}, 400,
                 "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"),
                ("ThrottlingException", {}, 400, "com.amazon.coral.service#ThrottlingException"),
                ("InternalServerError", {}, 500, "com.amazonaws.dynamodb.v20120810#InternalServerError"),
                ("ServiceUnavailable", {"message": "later"}, 503, "com.amazonaws.dynamodb.v20120810#ServiceUnavailable"),
                ("x.y#Other", {"status": 418}, 418, "x.y#Other")):
            with self.subTest(name):
                self.proxy.set_rules([{"action": "error", "name": name, **settings}])
                answer = self.caller.call()
                message = settings.get("message", "made by the fault proxy")
                self.assertEqual(answer, (status, {"__type": kind, "message": message}))
        self.assertEqual(self.server.seen, [])
        self.assertEqual(self.proxy.counters()["connections"], 1)

    def test_error_after_it_was_applied(self):
        self.proxy.add("error", apply=True)
        self.assertEqual(self.caller.call()[0], 500)
        self.assertEqual(self.operations(), ["UpdateItem"])

    def test_lie(self):
        for body in ({}, {"__type": "x.y#Other"}):
            self.proxy.set_rules([{"action": "lie", "body": body}])
            self.assertEqual(self.caller.call(), (200, body))
        self.assertEqual(self.server.seen, [])
        self.proxy.set_rules([{"action": "lie", "apply": True}])
        self.assertEqual(self.caller.call(), (200, {}))
        self.assertEqual(self.operations(), ["UpdateItem"])

    def test_throttle_all(self):
        self.proxy.add("throttle", operation="UpdateItem")
        status, body = self.caller.call()
        self.assertEqual((status, body["__type"].split("#")[1]), (400, "ProvisionedThroughputExceededException"))
        self.assertEqual(self.caller.call("GetItem")[0], 200)

    def test_throttle_lets_a_rate_through(self):
        now = [0.0]
        rule = rules.Rule(1, {"action": "throttle", "rate": 10}, 1, clock=lambda: now[0])

        def passed(seconds, calls):
            count = 0
            for _ in range(calls):
                now[0] += seconds / calls
                count += not rule.meets("GetItem", b"")
            return count

        self.assertEqual(passed(0.0, 50), 10)  # one second's worth at once
        self.assertAlmostEqual(passed(10.0, 1000), 100, delta=2)

    def test_close_after(self):
        self.proxy.add("close_after", count=1)
        self.assertEqual(self.caller.call()[1]["n"], 1)
        self.assertEqual(self.caller.connection.sock.recv(1), b"")

    def test_close_idle_spares_requests_under_way(self):
        self.proxy.add("delay", seconds=LONG, contains="slow")
        self.caller.call()
        busy = self.new_caller()
        busy.send(body=b"slow")
        self.proxy.wait_for(lambda log: len(log) == 2)
        self.assertEqual(self.proxy.close_idle(), 1)
        self.assertEqual(self.caller.connection.sock.recv(1), b"")
        self.assertEqual(busy.receive()[0], 200)

    def test_an_outage_refuses_and_ends(self):
        self.caller.call()
        self.proxy.listen(False)
        with self.assertRaises(ConnectionError):
            self.caller.call()
        with self.assertRaises(ConnectionRefusedError):
            self.new_caller().call()
        self.proxy.listen(True)
        self.assertEqual(self.new_caller().call()[0], 200)

    def test_an_unreachable_server_closes_the_clients_connection(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # bound, not listening
            with client.FaultProxy(f"http://127.0.0.1:{unused.getsockname()[1]}") as proxy:
                with contextlib.closing(Caller(proxy.endpoint)) as caller, self.assertRaises(NO_REPLY):
                    caller.call()

    def test_two_hundred_clients_at_once(self):
        callers = [self.new_caller() for _ in range(200)]
        for caller in callers:
            caller.send()
        self.assertEqual(sorted(caller.receive()[1]["n"] for caller in callers), list(range(1, 201)))


if __name__ == "__main__":
    unittest.main()
