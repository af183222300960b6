"""The faults of scripts/chaos, and the plan of a run: which fault, when, on which process, and for how long. The plan
follows from its seed alone; which process "the leader" is, is decided when the fault begins."""

import random

from cgroups import Unavailable
from process_faults import DeleteRecord, Freeze, FreezeGroup, Kill, Lock, LockedRow, Quota, Stop, Storm
from server_faults import (Cut, Delay, EndedSessions, Errors, FrozenServer, FullDatabase, LateAnswers, LoseAnswers, LoseReplies,
                           LoseRequests, MemberFrozen, MemberKilled, Outage, QuorumFrozen, QuorumKilled, ReadOnly, Rejection,
                           ServerCrash, Silence, Twice)

MOST_IMPAIRED = 2  # at once, of five: there is always a candidate that can be elected


KINDS = {"kill": Kill, "freeze": Freeze, "freezer": FreezeGroup, "cpu": Quota, "stop": Stop, "signals": Storm,
         "record": DeleteRecord, "lock": Lock, "replies": LoseReplies, "requests": LoseRequests, "delay": Delay,
         "errors": Errors, "twice": Twice, "cut": Cut, "outage": Outage, "row": LockedRow, "answers": LoseAnswers,
         "late": LateAnswers, "silence": Silence, "refused": Rejection, "frozen": FrozenServer, "readonly": ReadOnly,
         "crash": ServerCrash, "sessions": EndedSessions, "member": MemberKilled,
         "memberfrozen": MemberFrozen, "quorum": QuorumKilled, "quorumfrozen": QuorumFrozen, "full": FullDatabase}


def kinds_for(store):
    return [name for name, kind in KINDS.items() if kind.stores is None or store in kind.stores]


def plan(seed, seconds, names, lease_s):
    """[{at, fault, victim: "leader" or a number to choose by, seconds}], by time."""
    dice = random.Random(f"{seed}:{','.join(sorted(names))}")
    kinds = sorted(names)
    weights = [KINDS[name].weight for name in kinds]
    entries, at = [], 2.0
    while at < seconds - 1:
        name = dice.choices(kinds, weights)[0]
        low, high = KINDS[name].leases
        entries.append({"at": round(at, 3), "fault": name,
                        "victim": "leader" if dice.random() < 0.7 else round(dice.random(), 4),
                        "seconds": round(dice.uniform(low, high) * lease_s, 3)})
        at += dice.uniform(0.3, 2.0) * lease_s
    return entries


def jepsen_plan(seed, seconds, lease_s):
    """A pause of the leader every 5 s."""
    dice = random.Random(seed)
    return [{"at": float(at), "fault": "freeze", "victim": "leader", "seconds": round(dice.uniform(0.5, 2.0) * lease_s, 3)}
            for at in range(5, int(seconds), 5)]


def carry_out(fleet, entry):
    """False if it is impossible now: the victim is frozen or gone already, or too many are."""
    fault = KINDS[entry["fault"]]()
    victim = None
    if fault.on_process:
        victim = choose_victim(fleet, entry["victim"])
        if victim is None:
            return False
    try:
        fault.begin(fleet, victim, entry["seconds"])
    except Unavailable:
        return False
    return True


def choose_victim(fleet, whom):
    whole = [c for c in fleet.candidates if c.process.is_alive() and c.process.is_ready() and
             not c.process.frozen_by and c.restart_at is None]
    if len(whole) <= len(fleet.candidates) - MOST_IMPAIRED:
        return None
    if whom == "leader":
        return fleet.leader if fleet.leader in whole else None
    return whole[int(whom * len(whole))]
