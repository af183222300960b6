#ifndef CANDIDATES
#define CANDIDATES 2
#endif
#if CANDIDATES == 3
#define EACH(part) part(0); part(1); part(2)
#define EACH_FAST(part) part(1); part(2)
#define SUM(what) (what(0) + what(1) + what(2))
#define ALL(what) (what(0) && what(1) && what(2))
#define TAKEN_BY(i) takenFrom(0, i); takenFrom(1, i); takenFrom(2, i)
#else
#define EACH(part) part(0); part(1)
#define EACH_FAST(part) part(1)
#define SUM(what) (what(0) + what(1))
#define ALL(what) (what(0) && what(1))
#define TAKEN_BY(i) takenFrom(0, i); takenFrom(1, i)
#endif
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
#ifndef SHORTENS
#define SHORTENS 0                    /* 1: and made shorter again; needs LENGTHENS */
#endif
#ifndef EITHER
#define EITHER 0                      /* 1: a term begins with either lease; needs LENGTHENS */
#endif
#ifndef ONETERM
#define ONETERM 0                     /* 1: a candidacy ends with its term or before; the next one remembers (a lock) */
#endif
#ifndef LOSES
#define LOSES 0                       /* 1: the counter is lost, but not together with the record; 2: that too */
#endif
#ifndef DIES
#define DIES 0                        /* 1: with the faults' end all candidates but one may be gone for good */
#endif
#ifndef BACKOFF
#define BACKOFF 0                     /* 1: a candidate whose acquisition failed rests for a tick */
#endif
#ifndef LIVE
#define LIVE 0                        /* 1: SOMEBODY_LEADS is looked at, and ticks after the last fault are not counted */
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
#define CALM_BOUND (LEASE + 2 + DIES + BACKOFF)        /* ticks after the last fault until one leads, for good */
#define VALID (LEASE - GUARD)         /* a holder's right, on its own clock, from before its last write was sent */

#ifdef BREADTH_FIRST                  /* for the shortest counterexample; SPIN cannot hide variables from that search */
#define SCRATCH
#define TIDY n = 0; fits = 0; longer = 0; used = 0; told = 0; \
             k = 0; do :: k < RANKS -> rank[k] = 0; k++ :: else -> break od; k = 0
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
byte recOwner;                        /* a candidate, or FORMER: one that crashed since */
bit  recReleased;
byte recToken;                        /* the copy in the record */
bit  recLong;                         /* it states the longer lease */
byte counter;                         /* the fencing counter in the companion item; survives the record */
byte open;                            /* what it states beside: */
#define ENDED   0                     /* the last term ended cleanly; */
#define SHORTER 1                     /* a term of that lease may last: the record, if it is there, says how it stands */
#define LONGER  2
#define FORMER CANDIDATES
#define OTHER  (CANDIDATES + 1)                    /* the client of another make */
#define DELTA  LENGTHENS              /* ticks by which the shorter lease is shorter: ages of it begin with them */

/* ------------------------------------------------------------------------------------------------- the candidates */
#define CANDIDATE 0                   /* observes; a crashed process is one that has forgotten all */
#define ACQUIRING 1
#define LEADING   2
#define DRAINING  3                   /* told the work to stop, still renewing */
#define RELEASING 4
byte st[CANDIDATES];
byte age[CANDIDATES] = VALID;                  /* of the right: own ticks since the write it rests on was sent; VALID: none */
byte tok[CANDIDATES];                          /* the term's token */
bit  work[CANDIDATES];                         /* the work of a term runs */
byte ver[CANDIDATES];                          /* the last acknowledged version */
byte pend[2 * CANDIDATES];                         /* unanswered writes, older and newer, of candidate i at 2i and 2i + 1 */
byte pendAge[2 * CANDIDATES];                      /* own ticks since they were sent */
bit  lengthened[CANDIDATES];          /* it asks for the longer lease */
#if SHORTENS || EITHER
bit  pendShort[2 * CANDIDATES];       /* the unanswered write states the shorter lease */
#endif
#if ONETERM
bit  left[CANDIDATES];                /* the record is as an acknowledged release of this process has left it */
bit  mustRead[CANDIDATES];            /* this candidacy acts on what the one before it has seen only after a look */
#endif
#if LOSES
byte floor[CANDIDATES];               /* the highest token that it has seen */
#endif
#if BACKOFF
bit  rests[CANDIDATES];
#endif
#if DIES
bit  dead[CANDIDATES];                /* for good */
#endif
bit  over[CANDIDATES];                         /* it knows the counter's last term as one that is over: its own, or followed by ... */
bit  top[CANDIDATES];                          /* (the last record with a token that it saw was of that term) */
byte obs[CANDIDATES];                          /* the observation */
byte obsAge[CANDIDATES];                       /* own ticks since it was received; LEASE: free to take */
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
byte rq[CANDIDATES];                           /* the request in flight */
byte ph[CANDIDATES];                           /* and where it is */
byte rage[CANDIDATES];                         /* own ticks since it was sent */
byte reqv[CANDIDATES];                         /* the version that it left, once it is applied */
bit  rqLong[CANDIDATES];                       /* it states the longer lease */
bit  wStored[CANDIDATES], wLate[CANDIDATES], wNone[CANDIDATES];  /* its condition: the record has this version; there is none and no open term */
#define APPLIED     1
#define SHOWS_NONE  2
#define SHOWS_RECORD 3
byte reply[CANDIDATES];
byte shown[CANDIDATES];                        /* version in the record shown: STORED or SHOWN */
bit  shownOwn[CANDIDATES], shownReleased[CANDIDATES];
byte rtok[CANDIDATES];                         /* token in the reply */
byte late[CANDIDATES];                         /* a request that nobody waits for any more and that may still arrive */
bit  lStored[CANDIDATES], lNone[CANDIDATES];            /* its condition */
bit  lLong[CANDIDATES];
bit  lFormer[CANDIDATES];                      /* sent by a process that crashed since */

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
bit  ended[CANDIDATES] = 1;                    /* the present or last term has ended, by the clock or by announcement */

SCRATCH byte k, n, fits, longer, told;       /* used within one step only */
SCRATCH int used;
#define RANKS (4 * CANDIDATES + 7)
SCRATCH byte rank[RANKS];

/* Tokens are only compared, and a new one is above all: their order is kept and their size is not. */
#define USE(x)  used = used | (1 << x)
#define RANK(x) x = rank[x]
#if LOSES
#define USE_OF(i)  USE(tok[i]); USE(rtok[i]); USE(floor[i])
#define RANK_OF(i) RANK(tok[i]); RANK(rtok[i]); RANK(floor[i])
#else
#define USE_OF(i)  USE(tok[i]); USE(rtok[i])
#define RANK_OF(i) RANK(tok[i]); RANK(rtok[i])
#endif
inline compact() {
  used = 0;
  USE(counter); USE(recToken); USE(fence); USE(write); USE(issued); USE(accepted); EACH(USE_OF);
  n = 0; k = 1;
  do
  :: k < RANKS -> if :: used & (1 << k) -> n++ :: else fi; rank[k] = n; k++
  :: else -> break
  od;
  RANK(counter); RANK(recToken); RANK(fence); RANK(write); RANK(issued); RANK(accepted); EACH(RANK_OF)
}

#define revived(i) (ended[i] && leads(i))

/* After every step. */
inline done() {
  REQUIRE(SUM(valid) + fValid <= 1, MUTUAL_EXCLUSION);
  REQUIRE(!SUM(revived), NO_REVIVAL);
  REQUIRE(calm <= CALM_BOUND || SUM(leads) == 1, PROGRESS);
  TIDY
}

