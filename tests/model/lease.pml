/*
 * The protocol of tenure as a Promela model, for the model checker SPIN. docs/protocol.md explains it to readers who
 * have never seen Promela; run_model.py runs it.
 *
 * It belongs together with transitions.cpp, which says the same steps of a candidate once more in C++, and against
 * which conformance_test.cpp holds the real LeaseMachine. Change both, or neither.
 *
 * Each option of the loop at the end is one step of a candidate, the network, the store, an operator, a worker or the
 * clocks. A step is atomic; between two steps anything may happen, and any step may be put off for ever.
 */

#ifndef LEASE
#define LEASE 3                       /* ticks of a challenger's clock before it takes over */
#endif
#ifndef GUARD
#define GUARD 1                       /* ticks by which a holder's right ends earlier */
#endif
#ifndef SKEW
#define SKEW 1                        /* 1: candidate 0's clock misses up to one tick in any LEASE ticks */
#endif
#ifndef WRITES
#define WRITES 1
#endif
#ifndef DELETIONS
#define DELETIONS 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef LATES
#define LATES 1
#endif
#ifndef DRAINOUTS
#define DRAINOUTS 1
#endif
#ifndef LENGTHENS
#define LENGTHENS 0                   /* 1: a term begins with a lease that is a tick shorter, and may be made longer */
#endif
#ifndef RELEASES
#define RELEASES 0                    /* a release marks the record; 1: and clears the open term; 2: it removes the record */
#endif
#ifndef FOREIGN
#define FOREIGN 0                     /* 1: a client of another make competes: it has no tokens and releases by deleting */
#endif
#ifndef CALM
#define CALM 0                        /* 1: at some time the faults end, and what must come then is looked at */
#endif
#define CALM_BOUND (LEASE + 2)        /* ticks after the last fault until one leads, for good */
#define VALID (LEASE - GUARD)         /* a holder's right, on its own clock, from before its last write was sent */

#ifdef BREADTH_FIRST                  /* for the shortest counterexample; SPIN cannot hide variables from that search */
#define SCRATCH
#define TIDY k = 0; n = 0; fits = 0; longer = 0; used = 0; rank[1] = 0; rank[2] = 0; rank[3] = 0; rank[4] = 0; rank[5] = 0; \
             rank[6] = 0; rank[7] = 0; rank[8] = 0; rank[9] = 0
#else
#define SCRATCH hidden
#define TIDY skip
#endif

/* ---------------------------------------------------------------------------------------------- what must hold -- */
/* An assertion that fails prints its text, and with it one of these names. With ONLY the others are left out. */
#ifndef ONLY
#define ONLY 0
#endif
#define OFF(number) (ONLY != 0 && ONLY != number)
SCRATCH byte MUTUAL_EXCLUSION = OFF(1);    /* no two candidates have a right at the same time */
SCRATCH byte NO_EARLY_TAKEOVER = OFF(2);   /* nobody writes over the record of another whose right lasts */
SCRATCH byte STABLE_LEADER = OFF(3);       /* no holder gives up a lease that it holds */
SCRATCH byte NO_STALE_WRITE = OFF(4);      /* the resource accepts no write of a term after one of a later term */
SCRATCH byte TOKENS_RISE = OFF(5);         /* each acquisition has a higher token than any before it */
SCRATCH byte NO_REVIVAL = OFF(6);          /* a term that has ended, by the clock or by announcement, stays ended */
SCRATCH byte RELEASE_AFTER_WORK = OFF(7);  /* a release is sent when the work has ended and the right is given up */
SCRATCH byte ONE_WORK_AT_A_TIME = OFF(8);  /* no term of a process begins beside the work of its last one */
SCRATCH byte PROGRESS = OFF(9);            /* after the last fault one leads within a bounded time, for good */
#define REQUIRE(what, name) assert((what) || name)

/* ------------------------------------------------------------------------------------------------- the versions -- */
/*
 * A record version (RVN) is a UUID that never comes again, so only one thing counts: where it is. A version is named
 * by its place, which keeps the states finite without a bound on how often anybody writes.
 */
#define GONE   0                      /* nowhere: the record will never have it (again) */
#define STORED 1                      /* in the record */
#define LATE   2                      /* carried by the late request of the same candidate */
#define SHOWN  3                      /* in the reply on its way to the same candidate, not in the record any more */

/* What a candidate has observed: nothing, that there is no record, the record as it is, or a record that was there. */
/* A record that is gone while the counter says that its term is open is a version as well: PRESENT. */
#define UNKNOWN 0
#define ABSENT  1
#define PRESENT 2
#define OUTDATED 3

/* ------------------------------------------------------------------------------------------------------ the store */
bit  recHere;                         /* there is a record */
byte recOwner;                        /* 0, 1, or FORMER: a candidate that crashed since */
bit  recReleased;
byte recToken;                        /* the copy in the record */
bit  recLong;                         /* it states the longer lease */
byte counter;                         /* the fencing counter in the companion item; survives the record */
byte open;                            /* what it states beside: */
#define ENDED   0                     /* the last term ended cleanly; */
#define SHORTER 1                     /* a term of that lease may last: the record, if it is there, says how it stands */
#define LONGER  2
#define FORMER 2
#define OTHER  3                      /* the client of another make */
#define DELTA  LENGTHENS              /* ticks by which the shorter lease is shorter: ages of it begin with them */

/* ------------------------------------------------------------------------------------------------- the candidates */
#define CANDIDATE 0                   /* observes; a crashed process is one that has forgotten all */
#define ACQUIRING 1
#define LEADING   2
#define DRAINING  3                   /* told the work to stop, still renewing */
#define RELEASING 4
byte st[2];
byte age[2] = VALID;                  /* of the right: own ticks since the write it rests on was sent; VALID: none */
byte tok[2];                          /* the term's token */
bit  work[2];                         /* the work of a term runs */
byte ver[2];                          /* the last acknowledged version */
byte pend[4];                         /* unanswered writes, older and newer, of candidate i at 2i and 2i + 1 */
byte pendAge[4];                      /* own ticks since they were sent */
bit  lengthened[2];                   /* it asks for the longer lease */
bit  over[2];                         /* it knows the counter's last term as one that is over: its own, or followed by ... */
bit  top[2];                          /* (the last record with a token that it saw was of that term) */
byte obs[2];                          /* the observation */
byte obsAge[2];                       /* own ticks since it was received; LEASE: free to take */
#ifdef BELIEF_IS_A_FLAG               /* mutant: leadership lasts until somebody tells of its end, not until its time */
#define valid(i) (age[i] < VALID || st[i] == LEADING)
#else
#define valid(i) (age[i] < VALID)
#endif
#define leads(i) (st[i] == LEADING && valid(i))

/* ---------------------------------------------------------------------------------------------------- the network */
#define NONE    0
#define READ    1
#define ACQUIRE 2
#define RENEW   3
#define RELEASE 4
#define IDLE    0
#define SENT    1
#define REPLIED 2
byte rq[2];                           /* the request in flight */
byte ph[2];                           /* and where it is */
byte rage[2];                         /* own ticks since it was sent */
byte reqv[2];                         /* the version that it left, once it is applied */
bit  rqLong[2];                       /* it states the longer lease */
bit  wStored[2], wLate[2], wNone[2];  /* its condition: the record has this version; there is none and no open term */
#define APPLIED     1
#define SHOWS_NONE  2
#define SHOWS_RECORD 3
byte reply[2];
byte shown[2];                        /* version in the record shown: STORED or SHOWN */
bit  shownOwn[2], shownReleased[2];
byte rtok[2];                         /* token in the reply */
byte late[2];                         /* a request that nobody waits for any more and that may still arrive */
bit  lStored[2], lNone[2];            /* its condition */
bit  lLong[2];
bit  lFormer[2];                      /* sent by a process that crashed since */

/* ------------------------------------------------------------------------------------------------- the resource -- */
byte fence;                           /* the highest token it has seen */
byte write;                           /* token of a write on its way; 0: none */

/* ---------------------------------------------------------------------------------------------------- the clocks -- */
byte sinceMiss = LEASE - 1;           /* ticks since candidate 0's clock missed one */

/* --------------------------------------------------------------------------- the client of another make, if any -- */
bit  fHolds;
byte fAge = LEASE;                    /* ticks since it wrote the record, or else since it saw the record change */
#define fValid (fHolds && fAge < VALID)

byte calm;                            /* 0: faults may happen; else 1 + ticks since the last one, up to the bound */
#define faulty (!calm)

/* ------------------------------------------------------------ kept for the properties only, nothing decides by it */
byte issued;                          /* the highest token ever given */
byte accepted;                        /* the highest token of a write that was accepted */
bit  ended[2] = 1;                    /* the present or last term has ended, by the clock or by announcement */

SCRATCH byte k, n, fits, longer;             /* used within one step only */
SCRATCH int used;
SCRATCH byte rank[10];

/* Tokens are only compared, and a new one is above all: their order is kept and their size is not. */
#define USE(x)  used = used | (1 << x)
#define RANK(x) x = rank[x]
inline compact() {
  used = 0;
  USE(counter); USE(recToken); USE(tok[0]); USE(tok[1]); USE(rtok[0]); USE(rtok[1]); USE(fence); USE(write);
  USE(issued); USE(accepted);
  n = 0; k = 1;
  do
  :: k < 10 -> if :: used & (1 << k) -> n++ :: else fi; rank[k] = n; k++
  :: else -> break
  od;
  RANK(counter); RANK(recToken); RANK(tok[0]); RANK(tok[1]); RANK(rtok[0]); RANK(rtok[1]); RANK(fence); RANK(write);
  RANK(issued); RANK(accepted)
}

/* After every step. */
inline done() {
  REQUIRE(valid(0) + valid(1) + fValid <= 1, MUTUAL_EXCLUSION);
  REQUIRE(!(ended[0] && leads(0)) && !(ended[1] && leads(1)), NO_REVIVAL);
  REQUIRE(calm <= CALM_BOUND || leads(0) + leads(1) == 1, PROGRESS);
  TIDY
}

/* -------------------------------------------------------------------------------------------------- the mutants -- */
/* Rules taken away one at a time, to show that the properties notice. docs/protocol.md says what each one teaches. */
#ifdef WAIT_NOT_RESTARTED             /* mutant: one wait for the holder, however often it shows life */
#define RESTART(j) skip
#else
#define RESTART(j) obsAge[j] = 0
#endif
#ifdef VANISHED_IS_FREE               /* mutant: a record that is gone is a lease that is free */
#define VANISHED(i) obsAge[i] = LEASE
#else
#define VANISHED(i) FIRST_SEEN(i, (open == LONGER))
#endif
#ifdef OPEN_TERM_UNWRITTEN            /* mutant: an acquisition does not write its lease into the counter */
#define WRITE_OPEN skip
#else
#define WRITE_OPEN open = (recLong -> LONGER : SHORTER)
#endif
#ifdef LENGTHENED_IN_RECORD_ONLY      /* mutant: a lengthening leaves the counter as it was */
#define RAISE_OPEN skip
#else
#define RAISE_OPEN if :: recLong -> open = LONGER :: else fi
#endif
#ifdef ABSENCE_IS_ENOUGH              /* mutant: an acquisition where no record is does not look at the counter */
#define NOTHING_OPEN 1
#define SAME_VANISHED(w, j) (w || (!recHere && obs[j] != UNKNOWN))
#else
#define NOTHING_OPEN (open == ENDED)
#define SAME_VANISHED(w, j) w
#endif
#ifdef PRUNE_CLEARS                   /* mutant: removing a held record clears the open term, as removing a released one */
#define PRUNED open = ENDED
#else
#define PRUNED if :: recReleased -> open = ENDED :: else fi
#endif
#ifdef ANY_FOREIGN_IS_PROOF           /* mutant: who saw the other make's record takes any later term for over */
bit sawOther[2];
#define SAW(i, other) sawOther[i] = other
#define KNOWN_OVER(i) (over[i] || sawOther[i])
#else
#define SAW(i, other) skip
#ifdef ANY_OWN_IS_PROOF               /* mutant: who has led takes any later term for over */
bit hasLed[2];
#define KNOWN_OVER(i) (over[i] || hasLed[i])
#define HAS_LED(i) hasLed[i] = 1
#else
#define KNOWN_OVER(i) over[i]
#endif
#endif
#ifndef HAS_LED
#define HAS_LED(i) skip
#endif
#ifdef WAIT_PER_CALL                  /* mutant: each attempt begins to wait anew */
#define SEEN_AGAIN(i) obsAge[i] = 0
#define POLLED(i, yes) polled[i] = yes
#else
#define SEEN_AGAIN(i) skip
#define POLLED(i, yes) skip
#endif
#ifdef WAIT_FROM_SEND                 /* mutant: the wait counts from before the read was sent */
#define FIRST_SEEN(i, states_longer) obsAge[i] = rage[i]
#else
#ifdef WAIT_NOT_RESTARTED
#define FIRST_SEEN(i, states_longer) if :: obs[i] == OUTDATED :: else -> obsAge[i] = 0 fi
#else
#define FIRST_SEEN(i, states_longer) obsAge[i] = (states_longer -> 0 : DELTA)
#endif
#endif
#ifdef ADOPT_FROM_READ                /* mutant: a term found by read-back counts from the read-back */
#define ADOPTED(a) 0
#else
#define ADOPTED(a) a
#endif
#ifdef TERM_BESIDE_OLD_WORK           /* mutant: competes while the work of its last term still runs */
#define MAY_LEAD(i) 1
#else
#define MAY_LEAD(i) (!work[i])
#endif
#ifdef PROVEN_COUNTS_FROM_NOW         /* mutant: a write found by read-back counts from the read-back */
#define PROVEN(i, a) 0
#else
#define PROVEN(i, a) a
#endif
#ifdef UNANSWERED_IS_SUCCESS          /* mutant: a renewal without an answer counts as done */
#define UNANSWERED_RENEWAL(i) age[i] = rage[i]
#else
#ifdef UNANSWERED_IS_FAILURE          /* mutant: a renewal without an answer counts as failed and is forgotten */
#define UNANSWERED_RENEWAL(i) n = GONE
#else
#define UNANSWERED_RENEWAL(i) skip
#endif
#endif
#ifdef RENEW_UNCONDITIONAL            /* mutant: a heartbeat writes without looking */
#define RENEW_FITS(i) recHere
#else
#define RENEW_FITS(i) (recHere && wStored[i])
#endif
#ifdef RELEASE_UNCONDITIONAL          /* mutant: a release writes without looking */
#define RELEASE_FITS(i) recHere
#else
#define RELEASE_FITS(i) (recHere && wStored[i])
#endif
#ifdef TAKEOVER_UNCONDITIONAL         /* mutant: a takeover writes without looking */
#define ACQUIRE_FITS(i) 1
#else
#define ACQUIRE_FITS(i) (SAME_VANISHED(wStored[i], i) || (!recHere && NOTHING_OPEN && wNone[i]))
#endif
#ifdef TOKEN_ON_CREATE_ONLY           /* mutant: a takeover inherits the token */
#define NEXT_TOKEN if :: recToken == 0 -> counter++; recToken = counter :: else fi
#else
#define NEXT_TOKEN counter = (counter > recToken -> counter : recToken) + 1; recToken = counter
#endif
#ifdef RELEASED_MARK_STAYS            /* mutant: a takeover leaves the mark of the release */
#define KEEP_RELEASED skip
#else
#define KEEP_RELEASED recReleased = 0
#endif
#ifdef RELEASE_ERASES                 /* mutant: a release deletes the record and the counter */
#define AFTER_RELEASE removeRecord(); counter = 0; open = ENDED
#else
#define AFTER_RELEASE if :: RELEASES >= 1 -> open = ENDED :: else fi; if :: RELEASES == 2 -> removeRecord() :: else fi
#endif
#ifdef TOKEN_IN_RECORD                /* mutant: there is no companion item */
#define COUNTER_AFTER_DELETE counter = 0; open = ENDED
#else
#define COUNTER_AFTER_DELETE skip
#endif
#ifdef NO_FENCE                       /* mutant: the resource takes every write */
#define ADMITTED(t) 1
#else
#define ADMITTED(t) (t >= fence)
#endif
#ifdef NO_DEADLINE_FIRST              /* mutant: answers are looked at before the deadline is */
#define IN_TIME(i) 1
#else
#define IN_TIME(i) valid(i)
#endif
#ifdef COUNT_FROM_REPLY               /* mutant: the right counts from when the answer arrived */
#define ANSWERED(a) 0
#else
#define ANSWERED(a) a
#endif
#ifdef WAIT_PER_CALL
bit polled[2];
#define WORTH_READING(i) (!polled[i])
#else
#define WORTH_READING(i) (obs[i] == UNKNOWN || obs[i] == OUTDATED || (obs[i] == ABSENT && (recHere || open != ENDED)))
#endif
#ifdef RELEASE_BEFORE_LOSS            /* mutant: the record is released while the right is still believed in */
#define LOCAL_LOSS(i) skip
#else
#define LOCAL_LOSS(i) age[i] = VALID
#endif
#ifdef WAIT_NOT_RESTARTED
#define OR_OUTDATED(i) || obs[i] == OUTDATED
#else
#define OR_OUTDATED(i)
#endif
#ifdef WAIT_FROM_SEND
#define RAGE_OF_READ(i) rq[i] == READ
#define MAX_RAGE LEASE
#else
#define RAGE_OF_READ(i) 0
#define MAX_RAGE VALID
#endif

#ifdef ANSWER_AWAITED_FOR_EVER        /* mutant: an acquisition without an answer is awaited for ever */
#define UNANSWERED_ACQUISITION(i) skip
#else
#define UNANSWERED_ACQUISITION(i) st[i] = CANDIDATE
#endif
/* ------------------------------------------------------------------------------------------- places of versions -- */
inline dropPend(p) { pend[p] = GONE; pendAge[p] = 0 }
inline tidyPend(i) {                  /* keeps the older one first */
  if :: pend[2*i] == GONE ->
       pend[2*i] = pend[2*i+1]; pendAge[2*i] = pendAge[2*i+1]; dropPend(2*i+1)
     :: else
  fi
}
inline clearPend(i) { dropPend(2*i); dropPend(2*i+1) }
inline renamePend(i, old, new) {
  if :: pend[2*i] == old -> pend[2*i] = new; if :: new == GONE -> pendAge[2*i] = 0 :: else fi :: else fi;
  if :: pend[2*i+1] == old -> pend[2*i+1] = new; if :: new == GONE -> pendAge[2*i+1] = 0 :: else fi :: else fi;
  tidyPend(i)
}
inline dropLate(i) {                  /* the late request is lost for good, or was applied */
  late[i] = NONE; lStored[i] = 0; lNone[i] = 0; lLong[i] = 0; lFormer[i] = 0; wLate[i] = 0;
  renamePend(i, LATE, GONE)
}
/* The record's version is replaced: what referred to it, as far as candidate j is concerned. */
inline replaced(j) {
  wStored[j] = 0;
  lStored[j] = 0;
  if :: late[j] != NONE && !lNone[j] -> dropLate(j) :: else fi;
  if :: reply[j] == SHOWS_RECORD && shown[j] == STORED ->
       shown[j] = SHOWN;
       if :: ver[j] == STORED -> ver[j] = SHOWN :: else fi;
       renamePend(j, STORED, SHOWN)
     :: else ->
       if :: ver[j] == STORED -> ver[j] = GONE :: else fi;
       renamePend(j, STORED, GONE)
  fi;
  if :: reqv[j] == STORED -> reqv[j] = GONE :: else fi;
  if :: obs[j] == PRESENT -> obs[j] = OUTDATED; RESTART(j) :: else fi
}

/* --------------------------------------------------------------------------------------------- parts of the steps */
inline clearRequest(i) {
  rq[i] = NONE; ph[i] = IDLE; rage[i] = 0; rqLong[i] = 0; reqv[i] = GONE; wStored[i] = 0; wLate[i] = 0; wNone[i] = 0;
  reply[i] = NONE; shown[i] = GONE; shownOwn[i] = 0; shownReleased[i] = 0; rtok[i] = 0;
  if :: ver[i] == SHOWN -> ver[i] = GONE :: else fi;
  renamePend(i, SHOWN, GONE)
}
/* Nobody waits for the request any more, but it is still under way. A network holds one such request per candidate. */
inline makeLate(i) {
  if :: late[i] != NONE -> dropLate(i) :: else fi;
  wLate[i] = 0;
  if :: wStored[i] || wNone[i] -> late[i] = rq[i]; lStored[i] = wStored[i]; lNone[i] = wNone[i]; lLong[i] = rqLong[i]
     :: else
  fi
}
inline forgetTerm(i) {
  st[i] = CANDIDATE; tok[i] = 0; ver[i] = GONE; clearPend(i); obs[i] = UNKNOWN; obsAge[i] = 0; lengthened[i] = 0;
  clearRequest(i);
  ended[i] = 1
}
inline becomeLeader(i, since, token, version) {
  REQUIRE(!work[i], ONE_WORK_AT_A_TIME);
  st[i] = LEADING; age[i] = since; tok[i] = token; ver[i] = version; clearPend(i);
  obs[i] = UNKNOWN; obsAge[i] = 0; work[i] = 1; ended[i] = 0;
  over[i] = (DELETIONS && token == counter); top[i] = 0; HAS_LED(i)
}
/* Sends a write on condition that the record has a version that this holder may have left. */
inline sendOwn(i, what) {
  rq[i] = what; ph[i] = SENT; rqLong[i] = lengthened[i]; rage[i] = (lengthened[i] -> 0 : DELTA);
  wStored[i] = (ver[i] == STORED || pend[2*i] == STORED || pend[2*i+1] == STORED);
  wLate[i] = (pend[2*i] == LATE || pend[2*i+1] == LATE)
}
/* The record as it is now goes into a reply to candidate i. */
inline tell(i, withToken) {
  ph[i] = REPLIED; wStored[i] = 0; wLate[i] = 0; wNone[i] = 0;
  if :: recHere ->
       reply[i] = SHOWS_RECORD; shown[i] = STORED; shownOwn[i] = (recOwner == i); shownReleased[i] = recReleased;
       if :: (recOwner == i) && withToken -> rtok[i] = recToken :: else fi
     :: open != ENDED && !recHere ->
       reply[i] = SHOWS_RECORD; shown[i] = STORED; shownOwn[i] = 0; shownReleased[i] = 0
     :: else -> reply[i] = SHOWS_NONE
  fi
}
inline observe(i) {
  if
  :: reply[i] == SHOWS_NONE -> obsAge[i] = LEASE; obs[i] = ABSENT    /* nobody to wait for */
  :: reply[i] == SHOWS_RECORD && shown[i] == STORED ->
       if :: recHere && (recReleased || recOwner == i) -> obsAge[i] = LEASE
          :: !recHere && KNOWN_OVER(i) -> obsAge[i] = LEASE
          :: else ->
               if :: obs[i] == PRESENT -> SEEN_AGAIN(i)
                  :: else -> if :: recHere -> FIRST_SEEN(i, recLong) :: else -> VANISHED(i) fi
               fi
       fi;
       if :: FOREIGN && recHere && recOwner == OTHER -> over[i] = (over[i] || top[i]); SAW(i, 1)
          :: FOREIGN && !(recHere && recOwner == OTHER) -> top[i] = (!recHere || recToken == counter)
          :: else
       fi;
       obs[i] = PRESENT
  :: else -> obs[i] = OUTDATED; RESTART(i)
  fi
}

#define pendShown(i) (reply[i] == SHOWS_RECORD && shownOwn[i] && !shownReleased[i] && \
                      (pend[2*i] == shown[i] || pend[2*i+1] == shown[i]))

/* A candidate reads the record, or is shown it with a conflict: an own unanswered acquisition has arrived, or not. */
inline seeAsCandidate(i) {
  st[i] = CANDIDATE;
  if
  :: pendShown(i) && MAY_LEAD(i) ->
       if :: pend[2*i] == shown[i] -> k = ADOPTED(pendAge[2*i]) :: else -> k = ADOPTED(pendAge[2*i+1]) fi;
       becomeLeader(i, k, rtok[i], shown[i])
  :: else -> observe(i)
  fi;
  POLLED(i, 1);
  clearRequest(i);
  compact()
}

/* Somebody else owns the record, or it is gone: the term is over at once. */
inline loseTerm(i) {
  REQUIRE(!(recHere && recOwner == i && !recReleased && recToken == tok[i]), STABLE_LEADER);
  age[i] = VALID; lengthened[i] = 0;
  st[i] = CANDIDATE; tok[i] = 0; ver[i] = GONE; clearPend(i); obs[i] = UNKNOWN; obsAge[i] = 0; ended[i] = 1
}
/* A holder is shown the record, by a conflict or by a read-back. */
inline seeAsHolder(i) {
  if
  :: reply[i] == SHOWS_NONE || !shownOwn[i] || shownReleased[i] -> loseTerm(i); observe(i)
  :: else ->
       if
       :: pend[2*i] == shown[i] ->       /* it landed; a later one may still arrive */
            age[i] = PROVEN(i, pendAge[2*i]); ver[i] = shown[i]; dropPend(2*i); tidyPend(i)
       :: else ->
            if
            :: pend[2*i+1] == shown[i] -> age[i] = PROVEN(i, pendAge[2*i+1]); ver[i] = shown[i]; clearPend(i)
            :: else -> if :: ver[i] == shown[i]    /* none has landed; they stay in the next condition */
                          :: else -> loseTerm(i); observe(i)
                       fi
            fi
       fi
  fi;
  clearRequest(i);
  compact()
}

/* No answer in time. keep: the request is still under way. */
inline unanswered(i, keep) {
  n = GONE;
  if
  :: keep -> makeLate(i); if :: late[i] != NONE -> n = LATE :: else fi
  :: else -> if :: reply[i] == APPLIED -> n = reqv[i] :: else fi
  fi;
  k = rage[i];
  if :: rq[i] == RENEW && (st[i] == LEADING || st[i] == DRAINING) -> UNANSWERED_RENEWAL(i) :: else fi;
  if :: st[i] == ACQUIRING -> UNANSWERED_ACQUISITION(i) :: else fi;
  if :: st[i] == RELEASING -> k = 0 :: else fi;
  clearRequest(i);
  if :: n != GONE && k < VALID ->
       if :: pend[2*i] == GONE -> pend[2*i] = n; pendAge[2*i] = k
          :: else -> pend[2*i+1] = n; pendAge[2*i+1] = k
       fi
     :: else
  fi
}

/* The process dies and starts anew under a new name, with nothing but its late request in the network. */
inline crash(i) {
  age[i] = VALID; work[i] = 0;
  if :: late[i] != NONE -> lFormer[i] = 1 :: else fi;
  if :: recOwner == i && recHere -> recOwner = FORMER :: else fi;
  over[i] = 0; top[i] = 0; SAW(i, 0);
  forgetTerm(i);
  compact()
}

/* ------------------------------------------------------------------------------------------------------ the store */
#define FITS(i, what) ((what == ACQUIRE && ACQUIRE_FITS(i)) || (what == RENEW && RENEW_FITS(i)) || \
                       (what == RELEASE && RELEASE_FITS(i)))
#define LATE_FITS(i) (lStored[i] || (!recHere && NOTHING_OPEN && lNone[i]))

inline newTerm(j) { over[j] = 0; top[j] = 0 }

/* There is no record any more; the counter stays. */
inline removeRecord() {
  recHere = 0; recOwner = 0; recReleased = 0; recToken = 0; recLong = 0; fHolds = 0; fAge = 0
}

/* The record is about to be written by candidate i: nobody may lose it while its right lasts. */
inline takenFrom(j, i) {
  REQUIRE(!(recHere && recOwner == j && j != i && valid(j)), NO_EARLY_TAKEOVER)
}
inline apply(i, what, owner, longer) {
  takenFrom(0, i); takenFrom(1, i);
  replaced(0); replaced(1);
  recHere = 1; recOwner = owner; recLong = longer; fHolds = 0; fAge = 0;
  if
  :: what == ACQUIRE ->
       NEXT_TOKEN; WRITE_OPEN; newTerm(0); newTerm(1);
       REQUIRE(recToken > issued, TOKENS_RISE);
       issued = (recToken > issued -> recToken : issued);
       KEEP_RELEASED
  :: what == RENEW -> recReleased = 0; RAISE_OPEN
  :: else -> recReleased = 1; AFTER_RELEASE
  fi
}

inline arrives(t) {
  if
  :: ADMITTED(t) ->
       REQUIRE(t >= accepted, NO_STALE_WRITE);
       fence = t; accepted = (t > accepted -> t : accepted)
  :: else
  fi
}

/* -------------------------------------------------------------------------------------------- the candidate's parts */
#define holds(i) (st[i] == LEADING || st[i] == DRAINING)
#define pending(i) (pend[2*i] != GONE)

inline sendRead(i) {
  rq[i] = READ;
#ifdef WAIT_FROM_SEND
  ph[i] = SENT
#else
  tell(i, st[i] == CANDIDATE)         /* when a read was sent matters to nobody, so it is sent and served in one step */
#endif
}
inline sendAcquire(i) {
  st[i] = ACQUIRING; rq[i] = ACQUIRE; ph[i] = SENT; rage[i] = DELTA;
  wStored[i] = (obs[i] == PRESENT); wNone[i] = (obs[i] == ABSENT)
}
inline acquireAnswered(i) {
  if
  :: reply[i] == APPLIED ->
       if
       :: rage[i] < VALID -> k = rage[i]; becomeLeader(i, ANSWERED(k), rtok[i], reqv[i]); clearRequest(i)
       :: else -> forgetTerm(i); age[i] = VALID
       fi;
       compact()
  :: else -> seeAsCandidate(i)
  fi
}
inline renewAnswered(i) {
  if
  :: reply[i] == APPLIED ->
       k = rage[i]; n = reqv[i]; clearRequest(i); clearPend(i);
       ver[i] = n; age[i] = ANSWERED(k)
  :: else -> seeAsHolder(i)
  fi
}
/* A renewal was under way when the work ended: the release waits for it. */
inline renewAnsweredLate(i) {
  if :: reply[i] == APPLIED -> n = reqv[i]; clearPend(i); ver[i] = n :: else fi;
  clearRequest(i)
}
inline releaseAnswered(i) {
  if
  :: reply[i] == APPLIED -> forgetTerm(i)
  :: else ->
       ver[i] = GONE; clearPend(i); st[i] = CANDIDATE; obs[i] = UNKNOWN; lengthened[i] = 0; observe(i); clearRequest(i)
  fi
}
inline expire(i) { age[i] = VALID; forgetTerm(i); compact() }
inline stepDown(i) {
  ended[i] = 1;
#ifdef RELEASE_FIRST                  /* mutant: releases, then waits for the work */
  st[i] = RELEASING; age[i] = VALID; tok[i] = 0;
#else
  st[i] = DRAINING;
#endif
}
inline workEnds(i) {
  work[i] = 0;
  if :: st[i] == DRAINING ->
       st[i] = RELEASING; LOCAL_LOSS(i); tok[i] = 0; pendAge[2*i] = 0; pendAge[2*i+1] = 0; rage[i] = 0
     :: else
  fi;
  compact()
}

/* --------------------------------------------------------------------------------------------------------- clocks */
inline agePend(p) {
  if :: pend[p] != GONE -> pendAge[p] = pendAge[p] + 1; if :: pendAge[p] >= VALID -> dropPend(p) :: else fi :: else fi
}
inline tick(i) {
  POLLED(i, 0);
  if :: age[i] < VALID ->
       age[i] = age[i] + 1;
       if :: st[i] == LEADING && age[i] == VALID -> ended[i] = 1 :: else fi
     :: else
  fi;
  if :: st[i] != RELEASING ->
       if :: (rq[i] == ACQUIRE || rq[i] == RENEW || RAGE_OF_READ(i)) && rage[i] < MAX_RAGE -> rage[i] = rage[i] + 1
          :: else
       fi;
       agePend(2*i); agePend(2*i+1); tidyPend(i)
     :: else
  fi;
  if :: obsAge[i] < LEASE && (obs[i] == PRESENT || obs[i] == ABSENT OR_OUTDATED(i)) -> obsAge[i] = obsAge[i] + 1
     :: else
  fi
}

/* ------------------------------------------------------------------------------------------------------ the steps */
#define mayRead(i) (st[i] == CANDIDATE && ph[i] == IDLE && WORTH_READING(i))
#define mayAcquire(i) (st[i] == CANDIDATE && ph[i] == IDLE && MAY_LEAD(i) && obsAge[i] >= LEASE && \
                       (obs[i] == PRESENT || obs[i] == ABSENT))
#define mayRenew(i) (holds(i) && valid(i) && ph[i] == IDLE && (age[i] > 0 || pending(i)))
#define writeSent(i) (ph[i] == SENT && rq[i] != READ)
#define workMayEnd(i) (work[i] && st[i] != LEADING && !(st[i] == DRAINING && !valid(i)))
/* It has done what it has to do at this time: without faults everybody is quick, and time passes only then. */
#define quiet(i) (ph[i] == IDLE && !mayRead(i) && !mayAcquire(i) && !mayRenew(i) && !workMayEnd(i) && \
                  !(holds(i) && !valid(i)) && st[i] != RELEASING)
#define TICK_OTHER if :: FOREIGN && fAge < LEASE -> fAge++ :: else fi
#define timeMayPass (faulty || (quiet(0) && quiet(1)))
#define COUNT_CALM if :: calm && calm <= CALM_BOUND -> calm++ :: else fi

#define i _pid
active [2] proctype Candidate() {
  do
  :: d_step { mayRead(i) -> sendRead(i); done() }
  :: d_step { mayAcquire(i) -> sendAcquire(i); done() }
  :: d_step { st[i] == CANDIDATE && ph[i] == REPLIED -> seeAsCandidate(i); done() }
  :: d_step { st[i] == ACQUIRING && ph[i] == REPLIED -> acquireAnswered(i); done() }
  :: d_step { mayRenew(i) -> sendOwn(i, RENEW); done() }
  :: d_step { LENGTHENS && st[i] == LEADING && !lengthened[i] && mayRenew(i) ->
              lengthened[i] = 1; sendOwn(i, RENEW); done() }
  :: d_step { holds(i) && valid(i) && ph[i] == IDLE && pending(i) -> sendRead(i); done() }
  :: d_step { holds(i) && IN_TIME(i) && ph[i] == REPLIED -> renewAnswered(i); done() }
  :: d_step { holds(i) && !valid(i) -> expire(i); done() }
  :: d_step { LATES && faulty && holds(i) && !valid(i) && writeSent(i) -> makeLate(i); expire(i); done() }
  :: d_step { faulty && ph[i] != IDLE && (!holds(i) || valid(i)) -> unanswered(i, 0); compact(); done() }
  :: d_step { LATES && faulty && writeSent(i) && (!holds(i) || valid(i)) -> unanswered(i, 1); done() }
  :: d_step { faulty && leads(i) -> stepDown(i); done() }
  :: d_step { workMayEnd(i) -> workEnds(i); done() }
  :: d_step { DRAINOUTS && faulty && st[i] == DRAINING && valid(i) -> forgetTerm(i); compact(); done() }
  :: d_step { DRAINOUTS && LATES && faulty && st[i] == DRAINING && valid(i) && writeSent(i) ->
              makeLate(i); forgetTerm(i); compact(); done() }
  :: d_step { st[i] == RELEASING && ph[i] == IDLE ->
              REQUIRE(!work[i] && !valid(i), RELEASE_AFTER_WORK); sendOwn(i, RELEASE); done() }
  :: d_step { st[i] == RELEASING && ph[i] == REPLIED && rq[i] == RENEW -> renewAnsweredLate(i); done() }
  :: d_step { st[i] == RELEASING && ph[i] == REPLIED && rq[i] == READ -> clearRequest(i); done() }
  :: d_step { st[i] == RELEASING && ph[i] == REPLIED && rq[i] == RELEASE -> releaseAnswered(i); done() }
  :: d_step { faulty && st[i] == RELEASING && ph[i] == IDLE -> forgetTerm(i); done() }
  :: d_step { CRASHES && faulty -> crash(i); done() }
  :: d_step { LATES && CRASHES && faulty && writeSent(i) && (wStored[i] || wNone[i]) -> makeLate(i); crash(i); done() }
  /* the store serves a request */
  :: d_step { ph[i] == SENT ->
       if
       :: FITS(i, rq[i]) ->
            n = rq[i]; apply(i, n, i, rqLong[i]);
            ph[i] = REPLIED; reply[i] = APPLIED; wStored[i] = 0; wLate[i] = 0; wNone[i] = 0; reqv[i] = STORED;
            if :: n == ACQUIRE -> rtok[i] = recToken :: else fi
       :: else -> tell(i, st[i] == ACQUIRING || st[i] == CANDIDATE)
       fi;
       compact(); done() }
  :: d_step { late[i] != NONE ->
       if
       :: LATE_FITS(i) ->
            n = late[i]; k = (lFormer[i] -> FORMER : i);
            fits = wLate[i]; longer = lLong[i];
            late[i] = NONE; lStored[i] = 0; lNone[i] = 0; lLong[i] = 0; lFormer[i] = 0; wLate[i] = 0;
            apply(i, n, k, longer);
            wStored[i] = fits; renamePend(i, LATE, STORED)
       :: else -> dropLate(i)
       fi;
       compact(); done() }
  /* the work writes to the resource: at once, or the write is held up */
  :: d_step { WRITES && leads(i) -> arrives(tok[i]); compact(); done() }
  :: d_step { WRITES && leads(i) && write == 0 -> write = tok[i]; done() }
  od
}
#undef i

active proctype World() {
  do
  :: d_step { write != 0 -> n = write; write = 0; arrives(n); compact(); done() }
  /* an operator deletes the record; the companion item stays */
  :: d_step { DELETIONS && faulty && recHere ->
       replaced(0); replaced(1);
       removeRecord(); COUNTER_AFTER_DELETE;
       compact(); done() }
  /* or removes it by tenure's own command, which knows what the record says of its term */
  :: d_step { DELETIONS && faulty && recHere && recOwner != OTHER ->
       replaced(0); replaced(1);
       PRUNED; removeRecord();
       compact(); done() }
  /* the client of another make has seen no change for a lease, and lets go by deleting or is taken over from */
  :: d_step { FOREIGN && faulty && !fHolds && fAge >= LEASE ->
       replaced(0); replaced(1);
       removeRecord(); recHere = 1; recOwner = OTHER; recLong = 1; fHolds = 1;
       compact(); done() }
  :: d_step { FOREIGN && fHolds -> replaced(0); replaced(1); removeRecord(); compact(); done() }
  :: d_step { timeMayPass ->
       tick(0); tick(1); TICK_OTHER;
       if :: sinceMiss < LEASE - 1 -> sinceMiss++ :: else fi;
       COUNT_CALM; done() }
#if SKEW
  :: d_step { timeMayPass && sinceMiss >= LEASE - 1 -> tick(1); TICK_OTHER; sinceMiss = 0; COUNT_CALM; done() }
#endif
#if CALM
  /* the last fault was before; what was late has arrived, or is lost */
  :: d_step { faulty -> dropLate(0); dropLate(1); calm = 1; done() }
#endif
  od
}
