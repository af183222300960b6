"""Prometheus's own readers judge /metrics: expfmt of its Go library, and prometheus_client of Python.

tests/ops/answers_test.cpp compares the texts that /metrics chooses with the verdicts in tests/ops/accept_headers.json. This test asks
expfmt for them again (TENURE_UPDATE=1 makes it write them), and lets both readers read what a real listener answers. Without
Go the verdicts stay as they are, and prometheus_client reads alone. TENURE_PROGRAM names the program.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peers

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open
    from prometheus_client.parser import text_string_to_metric_families as read_plain
except ImportError:
    # Starts again, with the packages of requirements.txt.
    os.execv(peers.python(), [peers.python(), "-B", *sys.argv])

TABLE = pathlib.Path(__file__).resolve().parents[1] / "ops" / "accept_headers.json"
PATIENCE = 30  # seconds; only what hangs reaches it


def asked(what, given):
    done = subprocess.run([peers.expfmt(), what], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"expfmt: {done.stderr}\n{given}")
    return json.loads(done.stdout)


def has_go():
    try:
        peers.expfmt()
        return True
    except peers.NoGo as reason:
        print(f"{reason}; the stored verdicts count", file=sys.stderr)
        return False


HAS_GO = has_go()


class Listener:
    """`tenure run`, leading a group whose name has what labels escape."""

    def __init__(self, folder):
        (folder / "group.yaml").write_text(
            f'group: "a\\"b\\\\c"\ncandidate: {{ id: x }}\nstore: {{ type: sqlite, path: {folder}/leases.db }}\n', encoding="utf-8")
        self.log = folder / "log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [os.environ["TENURE_PROGRAM"], "run", "--config", str(folder / "group.yaml"), "--http", "127.0.0.1:0", "--",
                 "sleep", "3600"], stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE
        while not (found := re.search(r"http: listens on (\S+)", self.log.read_text(encoding="utf-8"))):
            if time.monotonic() > end:
                raise AssertionError(self.log.read_text(encoding="utf-8"))
            time.sleep(0.05)
        self.url = f"http://{found.group(1)}"

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)

    def metrics(self, accept):
        """The type and the text."""
        request = urllib.request.Request(f"{self.url}/metrics", headers={"Accept": accept} if accept else {})
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return reply.headers["Content-Type"], reply.read().decode()


    def wait_until_it_leads(self):
        deadline = time.monotonic() + PATIENCE
        while 'tenure_leader{group="a\\"b\\\\c"} 1' not in self.metrics("")[1]:
            if time.monotonic() > deadline:
                raise AssertionError(self.metrics("")[1])
            time.sleep(0.02)


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.table = json.loads(TABLE.read_text(encoding="utf-8"))
        home = tempfile.TemporaryDirectory()
        cls.addClassCleanup(home.cleanup)
        cls.listener = Listener(pathlib.Path(home.name))
        cls.addClassCleanup(cls.listener.end)
        cls.listener.wait_until_it_leads()  # from then on it has the same series at each scrape

    @unittest.skipUnless(HAS_GO, "Go is not there")
    def test_expfmt_chooses_as_the_table_says(self):
        verdicts = asked("negotiate", json.dumps([row["accept"] for row in self.table]))
        if os.environ.get("TENURE_UPDATE"):
            for row, verdict in zip(self.table, verdicts):
                row["expfmt"] = verdict
            TABLE.write_text("[\n" + ",\n".join(f"  {json.dumps(row)}" for row in self.table) + "\n]\n", encoding="utf-8")
        self.assertEqual(verdicts, [row["expfmt"] for row in self.table])

    def test_every_header_gets_a_text_that_the_reader_of_its_type_reads(self):
        readers = {"text/plain": read_plain, "application/openmetrics-text": read_open}
        seen = set()
        for row in self.table:
            with self.subTest(accept=row["accept"]):
                kind, text = self.listener.metrics(row["accept"].strip())
                self.assertEqual(kind, row.get("tenure", row["expfmt"]))
                kind = kind.split(";")[0]
                seen.add(kind)
                families = {family.name: family for family in readers[kind](text)}
                self.assertGreater(len(families), 20)
                self.assertEqual(families["tenure_leader"].samples[0].labels, {"group": 'a"b\\c'})
                if kind == "text/plain" and HAS_GO:
                    self.assertEqual(asked("read", text)["tenure_candidate_state"], ["gauge", 7])
        self.assertEqual(seen, readers.keys())

    def test_both_texts_have_the_same_families_and_series(self):
        def series(families):  # what the store was asked in the meantime has further ones
            return sorted((sample.name, sorted(sample.labels.items())) for family in families for sample in family.samples
                          if not family.name.startswith("tenure_store_request"))
        plain = self.listener.metrics("")[1]
        self.assertEqual(series(read_plain(plain)), series(read_open(self.listener.metrics("application/openmetrics-text")[1])))
        types = {family.name: family.type for family in read_plain(plain)}
        self.assertEqual({types[name] for name in ("tenure_candidate_state", "tenure_build_info", "tenure_leader")}, {"gauge"})
        self.assertEqual(types["tenure_terms"], "counter")
        self.assertEqual(types["tenure_renewal_duration_seconds"], "histogram")
        self.assertNotIn("unknown", types.values())
        if HAS_GO:
            self.assertNotIn("untyped", {kind for kind, _ in asked("read", plain).values()})


if __name__ == "__main__":
    unittest.main()
