"""Members whose disk or database becomes full while candidates lead, and the commands of docs/etcd.md that mend it.

TENURE_PROGRAM: the program `tenure`, which must tell what is wrong.
"""

import contextlib
import http.client
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from etcd_cluster import Cluster, b64, wait_until
from fleet_case import LEASE_S, FleetCase, etcd_yaml

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "etcd.md"
# Two segments of the write-ahead log, which etcd allocates before it uses them, and some room.
DISK_MIB = 160
QUOTA = 4 << 20


def repair_commands():
    """The commands that the page gives, as they stand there."""
    section = PAGE.read_text(encoding="utf-8").split("\n## When the database is full\n")[1].split("\n## ")[0]
    return re.search(r"```sh\n(.*?)```", section, re.DOTALL).group(1)


class Full(FleetCase):
    def write(self, member, number, size=100_000):
        """Somebody else's key. The status of the reply; 0 if there was none."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            return member.request("/v3/kv/put", {"key": b64(f"other/{number % 20}"), "value": b64("x" * size)}, 20)[0]
        return 0

    def fill(self, member, patience=2000):
        """Until a write is refused or not answered; the status."""
        for number in range(patience):
            status = self.write(member, number)
            if status != 200:
                return status
        raise TimeoutError("it never became full")

    def ended(self, process, token):
        return [e for e in process.told("revoked") if e["token"] == token]

    def test_a_full_database_is_told_and_mended_by_the_documented_commands(self):
        cluster = self.enterContext(Cluster(3, settings={"quota-backend-bytes": str(QUOTA)}))
        fleet = self.fleet_on(etcd_yaml(cluster))
        self.assertEqual(429, self.fill(cluster.leader()))
        fleet.block("the database was full", True)
        fleet.run_for(0.2)  # the term may have changed on a busy machine
        leader, token = fleet.leader.process, fleet.token
        fleet.wait(lambda: self.ended(leader, token), "the end of the term")
        for process in fleet.processes():
            fleet.wait(lambda p=process: any("database space exceeded" in e["message"] for e in p.told("store_error")),
                       f"{process} to say why")
        checked = subprocess.run([os.environ["TENURE_PROGRAM"], "check", "--connect", "--config", str(fleet.candidates[0].config)],
                                 capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(0, checked.returncode)
        self.assertIn("space exceeded", checked.stdout + checked.stderr)
        self.assertEqual(token, fleet.token)
        mended = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", repair_commands()], capture_output=True, text=True, timeout=60, check=False,
                                env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3", "ETCDCTL_ENDPOINTS": ",".join(cluster.endpoints)})
        self.assertEqual(0, mended.returncode, mended.stdout + mended.stderr)
        fleet.block("the database was full", False)
        fleet.await_leader(above=token)
        for member in cluster.members:  # all of them have room again, not only the one that was asked
            self.assertEqual(200, self.write(member, 0))
        print(self.judged(fleet))

    def started_on_small_disks(self, count):
        """So many members have one; the fleet."""
        self.cluster = Cluster(3, start=False)
        self.addCleanup(self.cluster.close)
        try:
            for member in self.cluster.members[:count]:
                member.data = self.cluster.tmpfs(f"{member.name}-disk", DISK_MIB) / "data"
        except PermissionError as fault:
            self.skipTest(str(fault))
        self.cluster.start()
        return self.fleet_on(etcd_yaml(self.cluster))

    def fill_disk(self, member):
        """Nothing is left, and what the others write must be stored. Returns the file that takes the room."""
        ballast = member.data.parent / "ballast"
        with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 4096)
        return ballast

    def test_one_member_with_a_full_disk_costs_no_term(self):
        fleet = self.started_on_small_disks(1)
        victim = self.cluster.members[0]
        if victim.leads():
            victim.restart()  # another one leads the cluster then
            self.cluster.leader()
            fleet.await_claim()
        leader = fleet.leader.process
        before = len(leader.told("revoked"))
        ballast = self.fill_disk(victim)
        others = [one for one in self.cluster.members if one is not victim]
        number = 0
        while victim.runs():  # it ends when it cannot store what the others have
            self.assertEqual(200, self.write(others[0], number))
            number += 1
            fleet.tick()
        fleet.run_for(1.5 * LEASE_S)
        lost = [e["reason"] for e in leader.told("revoked")[before:]]
        self.assertEqual([], [why for why in lost if why != "expired"])
        ballast.unlink()
        victim.start()
        print(self.judged(fleet))

    def test_full_disks_of_all_members_end_the_term_and_room_brings_it_back(self):
        fleet = self.started_on_small_disks(3)
        leader, token = fleet.leader.process, fleet.token
        ballasts = [self.fill_disk(member) for member in self.cluster.members]
        fleet.block("the disks were full", True)
        number = 0
        while sum(member.runs() for member in self.cluster.members) > 1:
            number += 1
            for member in self.cluster.members:
                if member.runs():
                    self.write(member, number)
            fleet.tick()
        fleet.wait(lambda: self.ended(leader, token), "the end of the term")
        token = fleet.token
        for ballast in ballasts:
            ballast.unlink()
        for member in self.cluster.members:
            if not member.runs():
                member.start(wait=False)
        for member in self.cluster.members:
            wait_until(member.has_leader, f"{member} to have a leader")
        fleet.await_leader(above=token)
        fleet.block("the disks were full", False)
        print(self.judged(fleet))


if __name__ == "__main__":
    unittest.main()
