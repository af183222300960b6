"""Every bench of scripts/bench ends with its figures, in a run of seconds. Whether they are good is for a calm machine."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["TENURE_BENCH"]).parent if "TENURE_BENCH" in os.environ else ROOT / "build/release/bin"
QUICK = ["--lease", "600", "--heartbeat", "150"]
FEW = [*QUICK, "--processes", "2", "--rounds", "1"]
STOPS = [*FEW, "--lease", "5000"]  # long enough on a busy machine: a leader that lost it has nothing to release


def numbers(value):
    """Every figure below `value`; None stands for one that is not a number."""
    if isinstance(value, dict):
        return [number for one in value.values() for number in numbers(one)]
    if isinstance(value, list):
        return [number for one in value for number in numbers(one)]
    return [value] if value is None or isinstance(value, (int, float)) else []


class Bench(unittest.TestCase):
    def figures_of(self, *command):
        """What the command writes with --json. It may miss its bounds (exit code 1), but no figure."""
        with tempfile.TemporaryDirectory(prefix="tenure-bench-test.") as directory:
            kept = pathlib.Path(directory, "figures.json")
            done = subprocess.run([*map(str, command), "--json", str(kept)], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=280, check=False)
            self.assertIn(done.returncode, (0, 1), done.stdout)
            self.assertTrue(kept.exists(), f"it ended without its figures:\n{done.stdout}")
            figures = json.loads(kept.read_text(encoding="utf-8"))
        self.assertTrue(numbers(figures))
        self.assertTrue(all(n is not None and math.isfinite(n) for n in numbers(figures)), figures)
        return figures

    def run_bench(self, name, options, *expected):
        figures = self.figures_of(BIN / "tenure-bench", name, *options)["figures"]
        for figure in expected:
            self.assertIn(figure, figures)

    def test_failover(self):
        self.run_bench("failover", FEW, "p50 of the excess (ms)", "p50, notice on (ms)", "p50 over the floor (ms)",
                       "p99 over the floor (ms)")

    def test_handover(self):
        self.run_bench("handover", STOPS, "p50 (ms)", "p99 (ms)")

    def test_pause(self):
        self.run_bench("pause", ["--lease", "300", "--heartbeat", "75", "--processes", "2", "--rounds", "3"],
                       "isLeader() true past validity (times)", "stale rows in the ledger (rows)")

    def test_renew(self):
        self.run_bench("renew", ["--rounds", "20"], "ratio of the medians (x)")

    def test_locks(self):
        self.run_bench("locks", ["--rounds", "30", "--processes", "5"], "ratio of the medians (x)", "longest wait beside the median (x)")

    def test_queue(self):
        self.run_bench("queue", ["--rounds", "1", "--processes", "1"], "1 processes: sections (a second)",
                       "1 processes, yielding: sections (a second)")

    def test_fence(self):
        self.run_bench("fence", ["--rounds", "20"], "SQLite: ratio of the medians (x)", "file: ratio of the medians (x)")

    def test_proxy(self):
        self.run_bench("proxy", ["--rounds", "100"], "GET: the proxy adds, p50 (ms)",
                       "POST, 64 connections: time for 20,000 requests, proxy on one core (s)")

    def test_leases(self):
        for store in ("sqlite", "dynamodb"):
            self.run_bench("leases", [*QUICK, "--leases", "20", "--rounds", "1", "--store", store], "leases with a missed heartbeat",
                           "leases lost", "doubts")

    def test_heartbeat(self):
        self.run_bench("heartbeat", [*QUICK, "--leases", "100", "--rounds", "1"], "CPU of a heartbeat, 100 leases (x bare)")

    def test_crowd(self):
        self.run_bench("crowd", [*QUICK, "--leases", "100", "--rounds", "1"], "longest time, in heartbeats", "leases lost",
                       "memory of a lease (KiB)")

    def test_micro(self):
        with tempfile.TemporaryDirectory(prefix="tenure-bench-test.") as directory:
            kept = pathlib.Path(directory, "figures.json")
            subprocess.run([BIN / "tenure-micro-bench", "--benchmark_min_time=0.01", f"--benchmark_out={kept}"], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
            seen = json.loads(kept.read_text(encoding="utf-8"))["benchmarks"]
        self.assertEqual([one["name"].split("/")[0] for one in seen if "error_message" not in one],
                         ["threeClockReads", "isLeader", "isLeader", "fencingToken"])
        self.assertTrue(all(one["cpu_time"] > 0 for one in seen))

    def test_postgresql(self):
        self.run_bench("renew", ["--rounds", "20", "--store", "postgresql"])
        self.run_bench("leases", [*QUICK, "--leases", "5", "--rounds", "1", "--store", "postgresql"], "leases lost")

    def test_etcd(self):
        # This one first: the lease that renew leaves there has the same name, and lasts 10 s.
        self.run_bench("handover", [*STOPS, "--store", "etcd"])
        self.run_bench("renew", ["--rounds", "20", "--store", "etcd"])

    def test_takeover(self):
        figures = self.figures_of(sys.executable, "-B", ROOT / "bench/lines/takeover.py", "--tenure", BIN / "tenure", "--rounds", "1",
                                  "--beats", "2", "--holders", "pausing", "--lease", "1200", "--heartbeat", "300")
        self.assertLessEqual({"p50", "p99", "looks"}, set(figures["pausing"]))

    def test_lines(self):
        if os.geteuid() != 0:
            self.skipTest("network namespaces need root")
        figures = self.figures_of(sys.executable, "-B", ROOT / "bench/lines/loss.py", "--tenure", BIN / "tenure", "--rounds", "1",
                                  "--loss", "10")
        self.assertEqual(set(figures["10"]), {"tenure", "Java"})

    def test_kubernetes(self):
        figures = self.figures_of(sys.executable, "-B", ROOT / "bench/kubernetes/beside_client_go.py", "--bin", BIN, "--rounds", "1")
        self.assertIn("handover_p50_ms", figures)

    def test_no_figure_is_a_fault(self):
        done = subprocess.run([BIN / "tenure-bench", "heartbeat", "--leases", "1"], text=True, capture_output=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "tenure-bench: with these options nothing was measured\n"))

    def test_the_list_is_that_of_the_script(self):
        usage = subprocess.run([ROOT / "scripts/bench", "--help"], text=True, capture_output=True, check=False).stdout
        listed = set(re.findall(r"^  (\w+) +\S", usage, re.MULTILINE)) - {"all"}
        tested = {name.removeprefix("test_") for name in dir(self) if name.startswith("test_")}
        self.assertEqual(listed, tested - {"no_figure_is_a_fault", "the_list_is_that_of_the_script"})


if __name__ == "__main__":
    unittest.main()
