"""`tenure fence proxy` where the machine's resolver does not answer: look-ups have a time limit, and none waits for
another.

    hanging_resolver_test.py TENURE

Runs in its own network and mount namespace, whose only name server takes questions and never answers. Needs root.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
INSIDE = "TENURE_TEST_INSIDE"
CONNECT_S = 5  # Limits::connect


def post(port, token):
    """The status of a POST under this token."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"POST /x HTTP/1.1\r\nHost: h\r\nFencing-Token: billing=%d\r\nContent-Length: 1\r\n\r\nx" % token)
        return int(connection.recv(100).split()[1])


class HangingResolver(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        resolver = os.path.join(self.directory.name, "resolv.conf")
        with open(resolver, "w", encoding="ascii") as file:
            file.write("nameserver 127.0.0.1\n")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        subprocess.run(["mount", "--bind", resolver, "/etc/resolv.conf"], check=True)
        self.addCleanup(subprocess.run, ["umount", "/etc/resolv.conf"], check=True)
        self.silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.silent.bind(("127.0.0.1", 53))
        self.addCleanup(self.silent.close)
        self.proxy = subprocess.Popen(
            [PROGRAM, "fence", "proxy", "--listen", "127.0.0.1:0", "--upstream", "http://service.test:80", "--lease",
             "billing", "--memory", os.path.join(self.directory.name, "fence.db"), "--drain-timeout", "1s"],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        self.port = int(re.search(r":(\d+),", self.proxy.stdout.readline()).group(1))

    def end(self):
        self.proxy.kill()
        self.proxy.wait()
        self.proxy.stdout.close()

    def test_look_ups_are_bounded_and_wait_for_no_other(self):
        answers = []
        began = time.monotonic()

        def ask(token):
            answers.append((post(self.port, token), time.monotonic() - began))

        threads = [threading.Thread(target=ask, args=(5,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([status for status, _ in answers], [502] * 4)
        for _, after in answers:
            # Not one after the other: then the last one would have waited four times as long.
            self.assertLess(after, 2 * CONNECT_S)


if __name__ == "__main__":
    if os.environ.get(INSIDE):
        unittest.main(verbosity=2)
    if os.geteuid() != 0:
        print("SKIPPED: only root can make namespaces")
        sys.exit(77)
    environment = {**os.environ, INSIDE: "1"}
    sys.exit(subprocess.call(["unshare", "--net", "--mount", sys.executable, "-B", os.path.abspath(__file__), PROGRAM,
                              *sys.argv[1:]], env=environment))
