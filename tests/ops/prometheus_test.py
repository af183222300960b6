#!/usr/bin/env python3
"""Debian's Prometheus reads what the listener writes, and its promtool tests the alert rules.

Skipped where neither is there. Without an installation (which would start a service):
    apt-get download prometheus && dpkg -x prometheus_*.deb DIR && export PATH=$PATH:DIR/usr/bin
TENURE_PROGRAM names the program.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "config/prometheus/tenure.rules.yml"
PATIENCE = 60  # seconds; only what hangs reaches it


def until(what, true):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = true()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


def ask(address, path):
    """The body, whatever the status."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=PATIENCE) as reply:
            return reply.read().decode()
    except urllib.error.HTTPError as rejection:
        return rejection.read().decode()


class Copy:
    """One `tenure run` process and where it listens."""

    def __init__(self, folder, name):
        self.log = folder / f"{name}.log"
        command = [os.environ["TENURE_PROGRAM"], "run", "--config", str(folder / "group.yaml"), "--http", "127.0.0.1:0",
                   "--", "sleep", "3600"]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, env={**os.environ, "NAME": name}, stdout=log, stderr=log)
        self.address = until("listens", lambda: re.search(r"http: listens on (\S+)", self.log.read_text())).group(1)

    def leads(self):
        return self.process.poll() is None and json.loads(ask(self.address, "/leader"))["leads"]

    def elections(self):
        groups = json.loads(ask(self.address, "/history"))["groups"]
        return sum(event["event"] == "elected" for event in groups[0]["events"])

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        self.process.wait(PATIENCE)


@unittest.skipUnless(shutil.which("promtool"), "promtool is not there (package prometheus)")
class AlertRules(unittest.TestCase):
    def test_fire_when_they_should(self):
        text = (ROOT / "tests/ops/alerts_test.yml").read_text(encoding="utf-8").replace("@RULES@", str(RULES))
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "tests.yml"
            file.write_text(text, encoding="utf-8")
            done = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Dashboard(unittest.TestCase):
    def test_names_metrics_that_there_are(self):
        told = set(re.findall(r"^\| `(tenure_\w+)`", (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8"), re.M))
        self.assertGreater(len(told), 15)
        for file in (ROOT / "config/grafana/tenure.json", RULES):
            named = set(re.findall(r"tenure_\w+(?=[{\[ )>,])", file.read_text(encoding="utf-8")))
            self.assertGreater(len(named), 5)
            for name in named - {"tenure_candidate_state"}:
                self.assertIn(re.sub("_bucket$", "", name), told, file)


@unittest.skipUnless(shutil.which("prometheus"), "prometheus is not there (package prometheus)")
class Prometheus(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tenure-prometheus-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "group.yaml").write_text(
            f'group: storm\ncandidate: {{ id: "${{NAME}}" }}\nlease: {{ duration: 1s }}\n'
            f"store: {{ type: sqlite, path: {self.folder}/leases.db }}\n", encoding="utf-8")
        self.copies = []
        for i in range(5):
            self.copies.append(Copy(self.folder, f"c{i}"))
            self.addCleanup(self.copies[i].end)
        self.start_server()

    def start_server(self):
        targets = ", ".join(f'"{copy.address}"' for copy in self.copies)
        config = self.folder / "prometheus.yml"
        config.write_text(
            f"global: {{ scrape_interval: 500ms, evaluation_interval: 1s }}\nrule_files: [ {RULES} ]\n"
            f"scrape_configs: [ {{ job_name: tenure, static_configs: [ {{ targets: [ {targets} ] }} ] }} ]\n",
            encoding="utf-8")
        log = self.folder / "prometheus.log"
        with open(log, "w", encoding="utf-8") as out:
            server = subprocess.Popen(
                ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder}/data",
                 "--web.listen-address=127.0.0.1:0", "--log.level=debug"], stdout=out, stderr=out)
        self.addCleanup(server.wait, PATIENCE)
        self.addCleanup(server.terminate)
        self.server = until("Prometheus listens",
                            lambda: re.search(r'msg="Listening on" address=(\S+)', log.read_text())).group(1)
        until("Prometheus is ready", lambda: "is Ready" in ask(self.server, "/-/ready"))

    def query(self, expression):
        answer = json.loads(ask(self.server, "/api/v1/query?query=" + urllib.parse.quote(expression)))
        return [(each["metric"], float(each["value"][1])) for each in answer["data"]["result"]]

    def value(self, expression):
        found = self.query(expression)
        return found[0][1] if found else None

    def leader(self):
        return until("somebody leads", lambda: next((copy for copy in self.copies if copy.leads()), None))

    def test_scrapes_five_processes_through_a_storm(self):
        until("all are scraped", lambda: self.value("sum(up)") == 5)
        for fault in (signal.SIGSTOP, signal.SIGTERM, signal.SIGSTOP):
            leader = self.leader()
            leader.process.send_signal(fault)
            if fault == signal.SIGTERM:
                leader.process.wait(PATIENCE)
            else:
                time.sleep(2)  # a lease and more: the others elect another leader meanwhile
                leader.process.send_signal(signal.SIGCONT)
        self.leader()
        alive = [copy for copy in self.copies if copy.process.poll() is None]
        self.assertEqual(len(alive), 4)
        until("Prometheus has each process's own count", lambda: all(
            self.value(f'tenure_terms_total{{instance="{copy.address}"}}') == copy.elections() for copy in alive))
        self.assertGreaterEqual(sum(copy.elections() for copy in alive), 3)
        # Each copy is scraped twice a second, at a moment of its own.
        until("one leads", lambda: self.value("sum(tenure_leader)") == 1)
        until("the one that was stopped is gone", lambda: self.value("sum(up)") == 4)
        until("both that were frozen tell it", lambda: (self.value('sum(tenure_revocations_total{reason="expired"})') or 0) >= 2)
        until("one job runs", lambda: self.value("sum(tenure_job_running)") == 1)
        self.assertEqual(len(self.query('ALERTS{alertname="TenureTwoLeaders",alertstate="firing"}')), 0)
        self.assertEqual(self.value('count(count by (__name__) ({__name__=~"tenure_.*"}))') > 20, True)
        self.assertGreaterEqual(self.value("sum(tenure_job_starts_total)"), 3)
        renewals = 'sum(tenure_store_requests_total{operation="renew",outcome="applied"})'
        self.assertGreater(self.value(renewals), 3)
        # In one question: between two of them there are more.
        self.assertLess(self.value(f'abs({renewals} - sum(tenure_renewals_total{{outcome="acknowledged"}}))'), 3)


if __name__ == "__main__":
    unittest.main()
