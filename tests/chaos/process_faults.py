"""Faults of candidates and of what they share on this machine: processes that are killed, stopped, frozen or slow, the
lease's record, a lock in the database."""

import signal
import threading
import time

import cgroups
from cgroups import CpuQuota, Freezer, Unavailable
from processes import now
from verdict import SECOND


class Fault:
    """One kind. `stores`: where it exists, None: everywhere; `on_process`: it needs a victim."""
    stores = None
    on_process = True
    weight = 2
    leases = (0.0, 0.0)  # how long, in leases

    def why_not(self):
        """None, or why this machine cannot do it."""
        return None

    def begin(self, fleet, victim, seconds):
        raise NotImplementedError


class Kill(Fault):
    """SIGKILL; another process of that name comes up to 2 s later"""

    def begin(self, fleet, victim, seconds):
        fleet.kill(victim, restart_after=seconds)

    leases = (0.0, 1.0)


class Freeze(Fault):
    """SIGSTOP for 0.1 to 3 leases, then SIGCONT"""
    weight = 5
    leases = (0.1, 3.0)

    def begin(self, fleet, victim, seconds):
        fleet.freeze(victim, seconds)


class FreezeGroup(Fault):
    """the freezer of a control group for 0.1 to 3 leases: the process is not even told"""
    leases = (0.1, 3.0)

    def why_not(self):
        return cgroups.why_not(Freezer)

    def begin(self, fleet, victim, seconds):
        group = Freezer()
        process = victim.process
        group.add(process.pid)
        group.freeze()
        fleet.mark_frozen(process, "freezer")

        def thaw():
            group.close()
            fleet.mark_thawed(process)
        fleet.note("freezer", victim, seconds)
        fleet.after(seconds, thaw, always=True)


class Quota(Fault):
    """2 % of one processor for up to 2 leases"""
    leases = (0.5, 2.0)

    def why_not(self):
        return cgroups.why_not(lambda: CpuQuota(2))

    def begin(self, fleet, victim, seconds):
        group = CpuQuota(2)
        group.add(victim.process.pid)
        fleet.note("CPU 2 %", victim, seconds)
        fleet.after(seconds, group.close, always=True)


class Stop(Fault):
    """SIGTERM: the job ends, the lease is released; another process of that name comes up to 2 s later"""
    leases = (0.0, 1.0)

    def begin(self, fleet, victim, seconds):
        fleet.stop(victim, restart_after=seconds)


class Storm(Fault):
    """SIGUSR1 without pause for a second, to a process that does not restart interrupted calls"""
    leases = (0.5, 0.5)

    def begin(self, fleet, victim, seconds):
        process = victim.process
        end = time.monotonic() + seconds
        fleet.note("SIGUSR1 storm", victim, seconds)

        def storm():
            while time.monotonic() < end and process.is_alive():
                try:
                    process.send(signal.SIGUSR1)
                except OSError:
                    return  # it ended just now
                time.sleep(0.0005)
        threading.Thread(target=storm, daemon=True).start()


class DeleteRecord(Fault):
    """the lease's record is deleted under its holder"""
    on_process = False
    weight = 1

    def begin(self, fleet, victim, seconds):
        # A newcomer that never saw the holder may be elected before the holder notices (docs/how-it-works.md, records
        # that vanish): that is a documented limit, and not tested here.
        if fleet.ongoing or not fleet.all_know_the_leader():
            raise Unavailable("a candidate has not seen the leader yet")
        # Candidates wait for a vanished record's lease from the time when it vanished. If nobody leads, this would be
        # added to the wait for the silent leader, but the bound for times without a leader covers only one wait.
        if not fleet.leader or not fleet.leader.process.told("led", now() - SECOND // 5):
            raise Unavailable("nobody leads just now")
        fleet.hold_starts(1.5)
        if not fleet.store.delete_record():
            raise Unavailable("the database is locked")
        fleet.note("record deleted")


class Lock(Fault):
    """somebody else holds the write lock of the database for up to 1.5 leases: no renewal, no election"""
    stores = ("sqlite",)
    on_process = False
    weight = 1
    leases = (0.1, 1.5)

    def begin(self, fleet, victim, seconds):
        if fleet.ongoing or not fleet.store.lock():
            raise Unavailable("the database is locked, or cannot be asked")
        fleet.note("database locked", seconds=seconds)
        fleet.block("the database was locked", True)

        def unlock():
            fleet.store.unlock()
            fleet.block("the database was locked", False)
        fleet.after(seconds, unlock, always=True)


class LockedRow(Lock):
    """somebody else has locked the lease's row for up to 1.5 leases: no renewal, no election"""
    stores = ("postgresql",)
