#!/usr/bin/env python3
"""Hand-overs on Kubernetes beside client-go on the same API server, and what a candidate that waits asks of it.

    scripts/bench kubernetes [--rounds N] [--json FILE]

Three figures of one run, on an API server of its own (scripts/kubernetes_local):
    put        p50 of a bare PUT of a Lease, on a connection that is kept
    handover   from SIGTERM to the successor's onElected, and for client-go from the release to the successor's; a lease of 2 s.
               Bound: two PUTs and 5 ms
    standby    requests of one waiting candidate in one lease, while its watch lives. Bound: 1
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("kubernetes", "etcd")] + [str(ROOT / "scripts")]
from access import Access
from client_go import ClientGo, command
from etcd_cluster import wait_until
import kubernetes_server

LEASE_S, HEARTBEAT_S = 2, 0.5
STANDBY_S = 30


def fail(message):
    sys.exit(f"bench kubernetes: {message}")


class Server:
    """Its requests by verb, as it counts them itself."""

    def __init__(self, access):
        self.access = access

    def lease_requests(self):
        status, text = self._raw("/metrics")
        if status != 200:
            fail(f"/metrics answered {status}")
        lines = re.findall(r'^apiserver_request_total\{(.*?resource="leases".*?)\} ([0-9.e+]+)$', text, re.MULTILINE)
        counted = {}
        for labels, count in lines:
            verb = re.search(r'verb="(\w+)"', labels).group(1)
            counted[verb] = counted.get(verb, 0) + float(count)
        return counted

    def _raw(self, path):
        where = urllib.parse.urlsplit(self.access.url)
        context = ssl.create_default_context(cafile=self.access.file("ca.pem"))
        connection = http.client.HTTPSConnection(where.hostname, where.port, context=context, timeout=30)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.access.user_token('admin')}"})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()

    def put_times(self, name, rounds):
        """In ms. Each changes the Lease, so each is a commit."""
        where = urllib.parse.urlsplit(self.access.url)
        context = ssl.create_default_context(cafile=self.access.file("ca.pem"))
        connection = http.client.HTTPSConnection(where.hostname, where.port, context=context, timeout=30)
        headers = {"Authorization": f"Bearer {self.access.user_token('tenure')}", "Content-Type": "application/json"}
        lease = self.access.must("POST", self.access.leases(), {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                                                                "metadata": {"name": name}, "spec": {"leaseTransitions": 0}})
        times = []
        for n in range(rounds):
            lease["spec"]["leaseTransitions"] = n + 1
            body = json.dumps(lease)
            begin = time.perf_counter()
            connection.request("PUT", self.access.leases(name), body, headers)
            reply = connection.getresponse()
            text = reply.read()
            times.append((time.perf_counter() - begin) * 1000)
            if reply.status != 200:
                fail(f"a PUT was answered {reply.status}")
            lease = json.loads(text)
        return times


def handovers(make, rounds):
    """In ms: from the instant before the release is sent. `make` starts a candidate."""
    times, candidates = [], [make(0), make(1)]
    for n in range(2, rounds + 2):
        wait_until(lambda: sum(one.leads() for one in candidates) == 1, "one leader", 60)
        leader, other = sorted(candidates, key=lambda one: not one.leads())
        time.sleep(LEASE_S / 2)  # the other one has seen it, and waits
        leader.end(signal.SIGTERM)
        wait_until(other.leads, "its successor", 60)
        released = max(event["t"] for event in leader.events if event["e"] == "released")
        elected = max(event["t"] for event in other.events if event["e"] == "elected")
        times.append((elected - released) / 1e6)
        candidates = [other, make(n)]
    for one in candidates:
        one.end(signal.SIGTERM)
    return times


def our_handover(bench, rounds):
    """p50 in ms, by tenure-bench."""
    with tempfile.TemporaryDirectory(prefix="tenure-bench.") as directory:
        kept = os.path.join(directory, "handover.json")
        subprocess.run([bench, "handover", "--store", "kubernetes", "--processes", "2", "--rounds", str(rounds), "--json", kept],
                       check=False)  # its own bound is that of a local file
        return json.loads(pathlib.Path(kept).read_text(encoding="utf-8"))["figures"]


def standby_requests(server, tenure):
    """Of one `tenure run` that waits, in a lease. The leader sends nothing but PUTs."""
    with tempfile.TemporaryDirectory(prefix="tenure-bench.") as directory, contextlib.ExitStack() as undo:
        file = os.path.join(directory, "group.yaml")
        pathlib.Path(file).write_text(
            f"group: bench-standby-{os.getpid()}\nlease: {{ duration: {LEASE_S}s, heartbeat: {int(HEARTBEAT_S * 1000)}ms }}\n"
            f"store: {kubernetes_server.store_section(directory)}\n", encoding="utf-8")
        for _ in range(2):
            process = subprocess.Popen([tenure, "run", "--config", file, "--", "/bin/sleep", "1000"], stderr=subprocess.DEVNULL)
            undo.callback(process.wait)
            undo.callback(process.terminate)
            time.sleep(2 * LEASE_S)
        before = server.lease_requests()
        time.sleep(STANDBY_S)
        after = server.lease_requests()
    asked = sum(after.get(verb, 0) - before.get(verb, 0) for verb in ("GET", "LIST", "POST"))
    return asked / (STANDBY_S / LEASE_S)


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--bin", required=True, help="the directory of tenure and tenure-bench")
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--json")
    given = options.parse_args()
    access = Access.beside()
    server, name = Server(access), f"bench-{os.getpid()}"
    puts = server.put_times(name, 200)
    put = statistics.median(puts)
    print(f"put: p50 {put:.2f} ms, p99 {statistics.quantiles(puts, n=100)[98]:.2f} ms", flush=True)
    ours = our_handover(os.path.join(given.bin, "tenure-bench"), given.rounds)
    seen = "SIGTERM -> successor's onElected, {} (ms)"
    figures = {"put_p50_ms": put, "handover_p50_ms": ours[seen.format("p50")], "handover_p99_ms": ours[seen.format("p99")]}
    try:
        program = kubernetes_server.peer()
        rivals = handovers(lambda n: ClientGo(f"client-go-{n}", command(program, access.kubeconfig, name + "-theirs", f"c{n}", LEASE_S,
                                                                        1.5, HEARTBEAT_S)), given.rounds)
        figures["handover_client_go_p50_ms"] = statistics.median(rivals)
        print(f"handover: client-go p50 {statistics.median(rivals):.1f} ms, most {max(rivals):.1f} ms (it asks each {HEARTBEAT_S} s)",
              flush=True)
    except kubernetes_server.NoGo as error:
        print(f"handover: client-go was not measured: {error}")
    figures["standby_requests_a_lease"] = standby_requests(server, os.path.join(given.bin, "tenure"))
    print(f"standby: {figures['standby_requests_a_lease']:.2f} requests a lease")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    bound = 2 * put + 5
    missed = [text for wrong, text in (
        (figures["handover_p50_ms"] > bound, f"hand-over p50 is above two PUTs and 5 ms ({bound:.2f} ms)"),
        (figures["standby_requests_a_lease"] > 1, "a candidate that waits asks more than once a lease")) if wrong]
    for text in missed:
        print(f"OVER THE BOUND: {text}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
