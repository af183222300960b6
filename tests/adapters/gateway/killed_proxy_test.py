"""`tenure fence proxy` is killed again and again while requests of rising terms are under way: no request of a later term
begins in the service while one of an earlier term is under way there.

    killed_proxy_test.py TENURE

TENURE_PROXY_KILLS says how often (5; scripts/test --all: 87).
"""

import http.client
import http.server
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from ports import free_port
from waiting import wait_until

PROGRAM = os.path.abspath(sys.argv.pop(1))
KILLS = int(os.environ.get("TENURE_PROXY_KILLS", "5"))
WORK_S = 0.4  # the longest time that the service takes for a request
DRAIN_S = 2.5  # longer than WORK_S and what a busy machine adds to it
CLIENTS = 6


class Service:
    """Notes when each request begins and ends, with its token, in one order."""

    def __init__(self):
        self.lock = threading.Lock()
        self.events = []
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                token = int(re.search(r"billing=(\d+)", self.headers["Fencing-Token"]).group(1))
                service.note("begins", token)
                self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(random.random() * WORK_S)
                service.note("ends", token)
                try:
                    self.send_response(200)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    self.close_connection = True

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):  # the proxy resets connections
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def note(self, what, token):
        with self.lock:
            self.events.append((what, token))

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def judge(events):
    """The faults, the number of requests and how many terms had some."""
    under_way = []
    faults = []
    terms = set()
    for what, token in events:
        if what == "ends":
            under_way.remove(token)
            continue
        terms.add(token)
        faults += [f"{token} begins while {other} is under way" for other in under_way if other != token]
        under_way.append(token)
    return faults, sum(what == "begins" for what, _ in events), len(terms)


class KilledProxy(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.service = Service()
        self.addCleanup(self.service.close)
        self.token = 1
        self.stopping = threading.Event()
        self.port = free_port()  # of all proxies, one after the other
        self.start()
        self.addCleanup(self.end)

    def start(self):
        self.proxy = subprocess.Popen(
            [PROGRAM, "fence", "proxy", "--listen", f"127.0.0.1:{self.port}", "--upstream",
             f"http://127.0.0.1:{self.service.port}", "--lease", "billing", "--memory",
             os.path.join(self.directory.name, "fence.db"), "--drain-timeout", f"{int(DRAIN_S * 1000)}ms"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.assertIn(f":{self.port},", self.proxy.stdout.readline())

    def end(self):
        self.proxy.kill()
        self.proxy.wait()
        self.proxy.stdout.close()

    def load(self):
        """One client: now and then it is elected, and it may go on under the term that it has for too long."""
        mine = self.token
        while not self.stopping.is_set():
            dice = random.random()
            if dice < 0.08:
                self.token += 1
            if dice < 0.5:
                mine = self.token
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            try:
                connection.request("POST", "/", b"x", {"Fencing-Token": f"billing={mine}"})
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                self.stopping.wait(0.01)
            finally:
                connection.close()

    def judged(self):
        with self.service.lock:
            return judge(list(self.service.events))

    def test_no_later_term_begins_beside_an_earlier_one(self):
        clients = [threading.Thread(target=self.load) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            for _ in range(KILLS):
                # Before, during or after the wait that follows a kill.
                self.stopping.wait(random.choice([0.05, 0.3, DRAIN_S + 0.2, DRAIN_S + 0.7]) * (0.8 + 0.4 * random.random()))
                self.proxy.send_signal(signal.SIGKILL)
                self.end()
                self.start()
            self.stopping.wait(DRAIN_S + 1)
            # All kills may have come before the wait was over, and a busy machine lets few pass in a second.
            wait_until(lambda: self.judged()[1] > 3 * KILLS and self.judged()[2] > KILLS // 3, "enough requests of enough terms", 120)
        finally:
            self.stopping.set()
            for client in clients:
                client.join()
        faults, requests, terms = self.judged()
        print(f"{KILLS} kills, {requests} requests of {terms} terms, {len(faults)} beside another term's")
        self.assertEqual(faults, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
