"""Locks of tenure and candidates of client-go on one Lease of a real server: who may believe what, and who has the right to it."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import ssl
import sys
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from access import Access
from client_go import CLIENT_GO, TENURE, ClientGo, command, faults_of, given_away, overlaps, rights_of
from etcd_cluster import wait_until
import kubernetes_server
from processes import now

HOLDER = os.environ.get("TENURE_KUBERNETES_HOLDER", "")
LEASE_S, HEARTBEAT_S = 2, 0.5
SECOND = 10**9


class History:
    """What the server tells of the Lease, and when (CLOCK_BOOTTIME), for whoever wants to know what happened."""

    def __init__(self, access, name):
        self.lines = []
        listed = access.must("GET", access.leases() + "?limit=1")["metadata"]["resourceVersion"]
        where = urllib.parse.urlsplit(access.url)
        context = ssl.create_default_context(cafile=access.file("ca.pem"))
        self._connection = http.client.HTTPSConnection(where.hostname, where.port, context=context)
        self._connection.request("GET", f"{access.leases()}?watch=1&fieldSelector=metadata.name%3D{name}&resourceVersion={listed}",
                                 headers={"Authorization": f"Bearer {access.user_token('admin')}"})
        threading.Thread(target=self._read, args=[self._connection.getresponse()], daemon=True).start()

    def _read(self, reply):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            for line in reply:
                event = json.loads(line)
                metadata, spec = event["object"]["metadata"], event["object"].get("spec", {})
                annotations = metadata.get("annotations", {})
                self.lines.append((now(), f"{event['type']} {metadata['resourceVersion']} {json.dumps(spec)} " + " ".join(
                    f"{name}={annotations.get('tenure.dev/' + name)}" for name in ("token", "version", "released", "spec"))))

    def between(self, begin, end):
        return "\n".join(f"{at / SECOND:.4f} {line}" for at, line in self.lines if begin <= at <= end)


class Holder(ClientGo):
    """tests/kubernetes/holder.cpp"""

    def rights(self):
        return rights_of(TENURE, f"{self.who}.{self.process.pid}", self.events)


class Beside(unittest.TestCase):
    def setUp(self):
        try:
            self.program = kubernetes_server.peer()
        except kubernetes_server.NoGo as error:
            self.skipTest(str(error))
        self.access = Access.beside()
        self.name = f"beside-{os.getpid()}-{self._testMethodName.replace('_', '-')}"[:63].strip("-")
        self.all = []

    def _made(self, process):
        self.all.append(process)
        self.addCleanup(process.end)
        return process

    def holder(self, who="tenure"):
        return self._made(Holder(who, [HOLDER, self.name, str(LEASE_S * 1000), str(int(HEARTBEAT_S * 1000))]))

    def client_go(self, identity, *more):
        return self._made(ClientGo(identity, command(self.program, self.access.kubeconfig, self.name, identity, LEASE_S, 1.5, 0.2,
                                                     more=more)))

    def rights(self):
        return [right for process in self.all for right in process.rights()]

    def test_a_holder_that_beats_is_never_taken_for_dead_by_client_go(self):
        holder = self.holder()
        wait_until(holder.leads, "the holder")
        believer = self.client_go("believer", "-believe")
        time.sleep(15)
        # On a machine that is too busy the holder may lose it, and then others may take it.
        self.assertEqual([(event, right) for event in believer.events if event["e"] == "would-take"
                          for right in holder.rights() if right.begin <= event["t"] <= right.last], [])
        reads = [event["record"] for event in believer.events if event["e"] == "read"]
        self.assertGreaterEqual(len(reads), 10, "a sign of life in each second")
        self.assertEqual({record["leaseDurationSeconds"] for record in reads}, {LEASE_S + 1})
        self.assertEqual(len({record["holderIdentity"] for record in reads}), 1)
        wait_until(holder.leads, "the holder")
        holder.end()
        last = max(event["t"] for event in holder.events if event["e"] == "led")
        wait_until(lambda: any(event["e"] == "would-take" and event["t"] > last for event in believer.events),
                   "client-go to take it over")
        taken = max(event["t"] for event in believer.events if event["e"] == "would-take")
        self.assertGreater(taken - last, LEASE_S * SECOND)

    def test_what_tenure_gives_back_client_go_takes_at_once(self):
        holder = self.holder()
        wait_until(holder.leads, "the holder")
        rival = self.client_go("rival")
        wait_until(lambda: any(event["e"] == "seen" for event in rival.events), "the rival to see it")
        holder.end(signal.SIGTERM)
        wait_until(rival.leads, "the rival")
        self.assertLess(rival.rights()[0].begin - holder.rights()[0].last, SECOND)
        rival.end(signal.SIGTERM)
        self.assertEqual(faults_of(self.rights()), [])

    def test_what_client_go_gives_back_tenure_takes_at_once(self):
        rival = self.client_go("rival")
        wait_until(rival.leads, "the rival")
        holder = self.holder()
        time.sleep(1)
        rival.end(signal.SIGTERM)
        wait_until(holder.rights, "the holder to lead for a moment")
        holder.end(signal.SIGTERM)
        self.assertLess(holder.rights()[0].begin - rival.rights()[0].last, SECOND)
        self.assertEqual(faults_of(self.rights()), [])

    def test_each_takes_over_from_a_dead_one_of_the_other(self):
        for round_ in range(2):
            holder, rival = self.holder(f"tenure-{round_}"), self.client_go(f"rival-{round_}")
            wait_until(lambda: holder.leads() or rival.leads(), "a leader")
            first, second = (holder, rival) if holder.leads() else (rival, holder)
            time.sleep(1)
            first.end()
            wait_until(second.leads, "the other one")
            time.sleep(1)
            second.end()
            time.sleep(LEASE_S + 1)
        self.assertEqual(faults_of(self.rights()), [])
        self.assertEqual(len(self.rights()), 4)

    def test_no_two_have_the_right_to_lead_under_kills_and_freezes(self):
        until = time.monotonic() + float(os.environ.get("TENURE_KUBERNETES_FIGHT_S", 40))
        seed = int(os.environ.get("TENURE_KUBERNETES_FIGHT_SEED", 1))
        random_, started, frozen = random.Random(seed), 0, []
        # Only where no other test uses the server.
        stalls = "TENURE_KUBERNETES_FIGHT_STALLS" in os.environ and int(os.environ["TENURE_TEST_KUBERNETES_PIDS"].split(",")[1])

        def start(kind):
            nonlocal started
            started += 1
            return self.holder(f"tenure-{started}") if kind == TENURE else self.client_go(f"client-go-{started}")

        def stand_aside():
            """tenure watches, and so it is quicker. Now and then it is not there, so that client-go leads too."""
            how = random_.choice((signal.SIGKILL, signal.SIGTERM))
            for at, (kind, process) in enumerate(running):
                if kind == TENURE:
                    process.end(how)
                    running[at] = (kind, None)
            frozen[:] = [one for one in frozen if one[0].process.poll() is None]
            end = time.monotonic() + 3 * LEASE_S
            while time.monotonic() < end and not any(process.leads() for kind, process in running if kind == CLIENT_GO):
                time.sleep(0.05)
            running[:] = [(kind, process or start(kind)) for kind, process in running]

        history, round_ = History(self.access, self.name), 0
        running = [(kind, start(kind)) for kind in (TENURE, TENURE, CLIENT_GO, CLIENT_GO)]
        while time.monotonic() < until:
            time.sleep(random_.uniform(0.3, 1.5))
            round_ += 1
            if round_ % 6 == 0:
                stand_aside()
            if stalls and random_.random() < 0.2:
                os.kill(stalls, signal.SIGSTOP)
                time.sleep(random_.uniform(0.2, 3))
                os.kill(stalls, signal.SIGCONT)
            for process, thaws in list(frozen):
                if time.monotonic() > thaws:
                    process.thaw()
                    frozen.remove((process, thaws))
            leading = [at for at, (_, process) in enumerate(running) if process.leads()]
            at = random_.choice(leading or range(len(running)))
            kind, process = running[at]
            what = random_.choice(("kill", "stop", "freeze", "nothing"))
            if what == "freeze" and all(one is not process for one, _ in frozen):
                process.freeze()
                frozen.append((process, time.monotonic() + random_.uniform(0.5, 2 * LEASE_S)))
            elif what in ("kill", "stop"):
                frozen = [one for one in frozen if one[0] is not process]
                process.end(signal.SIGKILL if what == "kill" else signal.SIGTERM)
                running[at] = (kind, start(kind))
        for _, process in running:
            process.end(signal.SIGTERM)
        rights = self.rights()
        releases = [one for process in self.all for one in process.releases()]
        self.assertEqual(faults_of(rights, releases), [], f"seed {seed}\n" + "\n\n".join(
            history.between(min(a.begin, b.begin) - 5 * SECOND, max(a.last, b.last) + SECOND) for a, b in overlaps(rights)[:6]))
        counted = {kind: sum(right.kind == kind for right in rights) for kind in (TENURE, CLIENT_GO)}
        print(f"\nterms: {counted}, overlaps: {len(overlaps(rights))}, rights given away by client-go: "
              f"{len(given_away(rights, releases))}")
        self.assertGreater(min(counted.values()), 1, counted)
        self.assertEqual([error for process in self.all if type(process) is ClientGo for error in process.errors()
                          if "decode" in error or "unmarshal" in error], [])


if __name__ == "__main__":
    unittest.main()
