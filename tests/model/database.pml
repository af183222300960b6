/*
 * What happens when somebody deletes SQLite's whole database, as a Promela model: record and counter are gone, and
 * another database is made. The steps are those of lockcore/stores/sqlite/src/new_database_rule.hpp and have its names,
 * H1 to H4 and N1 to N5. tests/model/README.md explains it; run_model.py runs it.
 *
 * What happens inside one database is the business of lease.pml: here an acquisition is applied if no term in it lasts.
 * A step is atomic; between two steps anything may happen, and any step may be put off for ever.
 */

#ifndef CANDIDATES
#define CANDIDATES 2
#endif
#ifndef LEASE
#define LEASE 3                       /* the longest lease that anybody asks for; a term begins with one a tick shorter */
#endif
#ifndef GUARD
#define GUARD 1                       /* ticks by which a holder's belief ends earlier */
#endif
#ifndef SKEW
#define SKEW 1                        /* 1: candidate 0's clock misses up to one tick in any LEASE ticks */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#define FIRST_LEASE (LEASE - 1)
#define VALID(lease) (lease - GUARD)

#ifdef BREADTH_FIRST                  /* for the shortest counterexample; SPIN cannot hide variables from that search */
#define SCRATCH
#else
#define SCRATCH hidden
#endif

/* What must hold: no two candidates believe at the same time that they lead. */
SCRATCH byte ONE_BELIEVER = 0;
#define REQUIRE(what, name) assert((what) || name)

/* A database is named by its place, which keeps the states finite without a bound on how many come and go. */
#define NONE 0
#define HERE 1                        /* the path names it */
#define GONE 2                        /* it was deleted; who has it open may still commit to it */
bit  here;                            /* there is a database */
byte maker = CANDIDATES;              /* who has the lock for making one; CANDIDATES: nobody */

byte file[CANDIDATES];                /* the database that it has open */
byte stated[CANDIDATES];              /* the lease that stands in its beacon; of a process that ended: 0 */
byte step[CANDIDATES];                /* of the write under way */
#define IDLE      0
#define STATED    1                   /* H1 */
#define COMMITTED 2                   /* H2 */
#define LOOKED    3                   /* H3 */
byte asked[CANDIDATES];               /* the lease that this write asks for */
byte wAge[CANDIDATES];                /* own ticks since before it was sent */
byte lease[CANDIDATES];               /* of the term that it believes in (H4); 0: none */
byte age[CANDIDATES];                 /* own ticks since before the write that the belief rests on */
#define believes(i) (lease[i] != 0)

byte attempt[CANDIDATES];             /* at making a database: how far it has come */
#define LOCKED   1
#define MISSED   2                    /* it looked and found none */
#define READING  3                    /* the beacons; then it knows the longest lease */
#define MARKED   4
bit  waiting[CANDIDATES];             /* it found none before: `since` is set */
byte since[CANDIDATES];               /* own ticks since then */
bit  otherMark[CANDIDATES];           /* the mark is another than at that look */
bit  sameMark[CANDIDATES];            /* what it read of that in N1 */
byte longest[CANDIDATES];
byte next[CANDIDATES];                /* the beacon to read next */

byte sinceMiss = LEASE - 1;           /* ticks since candidate 0's clock missed one */
SCRATCH byte j, n;

/* -------------------------------------------------------------------------------------------------- the mutants -- */
/* Rules taken away one at a time, to show that the property notices. */
#ifdef MADE_WITHOUT_WAIT              /* mutant: who finds no database makes one */
#define WAITED(i) 1
#else
#define WAITED(i) (since[i] >= longest[i])
#endif
#ifdef MADE_WITHOUT_LOCK              /* mutant: several may make one at a time; the later one replaces the first */
#define MAY_LOCK 1
#else
#define MAY_LOCK (maker == CANDIDATES)
#endif
#ifdef MARK_IGNORED                   /* mutant: a database that came and went between two looks goes unnoticed */
#define SAME_MARK(i) 1
#else
#define SAME_MARK(i) sameMark[i]
#endif
#ifdef SINCE_BEFORE_LOOK              /* mutant: the wait counts from before the look that found none */
#define SINCE_AT_LOCK(i) if :: waiting[i] && sameMark[i] :: else -> waiting[i] = 1; otherMark[i] = 0; since[i] = 0 fi
#define SINCE_AFTER_LOOK(i) skip
#else
#define SINCE_AT_LOCK(i) skip
#define SINCE_AFTER_LOOK(i) if :: waiting[i] && SAME_MARK(i) \
                               :: else -> waiting[i] = 1; otherMark[i] = 0; since[i] = 0 fi
#endif
#ifdef BEACONS_BEFORE_LOOK            /* mutant: what the beacons state is read before the look that found none */
#define READ_EARLY(i) longest[i] = 0; j = 0; \
                      do :: j < CANDIDATES -> READ(i, j); j++ :: else -> break od; j = 0
#define READ_NEXT(i) skip
#else
#define READ_EARLY(i) longest[i] = 0
#define READ_NEXT(i) READ(i, next[i])
#endif
#define READ(i, k) if :: k != i && stated[k] > longest[i] -> longest[i] = stated[k] :: else fi
#ifdef BEACON_IGNORED                 /* mutant: no lease is stated before the first commit of a term */
#define STATE_FIRST(i) skip
#else
#define STATE_FIRST(i) RAISE(i)
#endif
#ifdef LENGTHENED_BEFORE_STATED       /* mutant: a longer lease is stated when it is believed in, after the look */
#define STATE_LONGER(i) skip
#define STATE_AFTER(i) RAISE(i)
#else
#define STATE_LONGER(i) RAISE(i)
#define STATE_AFTER(i) skip
#endif
#define RAISE(i) if :: stated[i] < asked[i] -> stated[i] = asked[i] :: else fi
#ifdef ELECTED_WITHOUT_LOOK           /* mutant: an acquisition that is committed counts, wherever */
#define FOUND_FIRST(i) 1
#else
#define FOUND_FIRST(i) (file[i] == HERE)
#endif
#ifdef RENEWED_WITHOUT_LOOK           /* mutant: a renewal that is committed counts, wherever */
#define FOUND_AGAIN(i) 1
#else
#define FOUND_AGAIN(i) (file[i] == HERE)
#endif
#define FOUND(i) (believes(i) -> FOUND_AGAIN(i) : FOUND_FIRST(i))

/* --------------------------------------------------------------------------------------------- parts of the steps */
inline done() {
  n = 0; j = 0;
  do :: j < CANDIDATES -> if :: believes(j) -> n++ :: else fi; j++ :: else -> break od;
  REQUIRE(n <= 1, ONE_BELIEVER);
  j = 0; n = 0
}
inline endWrite(i) { step[i] = IDLE; asked[i] = 0; wAge[i] = 0 }
inline endTerm(i) { lease[i] = 0; age[i] = 0; endWrite(i) }
inline endAttempt(i) {
  if :: maker == i -> maker = CANDIDATES :: else fi;
  attempt[i] = NONE; longest[i] = 0; next[i] = 0; sameMark[i] = 0
}
inline endWait(i) { waiting[i] = 0; since[i] = 0; otherMark[i] = 0 }
inline gone(i) { if :: file[i] == HERE -> file[i] = GONE :: else fi }
/* A term in the database that the path names may last. */
#define lasts(j) (file[j] == HERE && (believes(j) || (step[j] >= COMMITTED && wAge[j] < VALID(asked[j]))))
inline countOthers(i) {
  n = 0; j = 0;
  do :: j < CANDIDATES -> if :: j != i && lasts(j) -> n++ :: else fi; j++ :: else -> break od;
  j = 0
}

inline tick(i) {
  if :: believes(i) ->
       age[i] = age[i] + 1;
       if :: age[i] >= VALID(lease[i]) -> endTerm(i) :: else fi
     :: else
  fi;
  if :: step[i] != IDLE && wAge[i] < LEASE -> wAge[i] = wAge[i] + 1 :: else fi;
  if :: waiting[i] && since[i] < LEASE -> since[i] = since[i] + 1 :: else fi
}

/* ------------------------------------------------------------------------------------------------------ the steps */
#define i _pid
active [CANDIDATES] proctype Candidate() {
  do
  /* whoever finds a database uses it */
  :: d_step { file[i] == NONE && attempt[i] == NONE && here -> file[i] = HERE; endWait(i); done() }
  /* H1: an acquisition, a renewal, one that lengthens the lease */
  :: d_step { file[i] != NONE && step[i] == IDLE && !believes(i) ->
              asked[i] = FIRST_LEASE; step[i] = STATED; STATE_FIRST(i); done() }
  :: d_step { step[i] == IDLE && believes(i) && age[i] > 0 -> asked[i] = lease[i]; step[i] = STATED; done() }
  :: d_step { step[i] == IDLE && believes(i) && lease[i] < LEASE ->
              asked[i] = LEASE; step[i] = STATED; STATE_LONGER(i); done() }
  /* H2; in a database that is gone nobody else is looked at */
  :: d_step { step[i] == STATED ->
       countOthers(i);
       if :: file[i] == HERE && n > 0 && !believes(i) -> endWrite(i) :: else -> step[i] = COMMITTED fi;
       done() }
  /* H3 */
  :: d_step { step[i] == COMMITTED ->
       if :: FOUND(i) -> step[i] = LOOKED :: else -> endTerm(i); file[i] = NONE fi;
       done() }
  /* H4 */
  :: d_step { step[i] == LOOKED ->
       if :: wAge[i] < VALID(asked[i]) -> STATE_AFTER(i); lease[i] = asked[i]; age[i] = wAge[i]; endWrite(i)
          :: else -> endTerm(i)
       fi;
       done() }
  /* a write that failed, or was given up, and a candidate that looks again which database there is */
  :: d_step { step[i] != IDLE && !believes(i) -> endWrite(i); done() }
  :: d_step { file[i] == GONE && !believes(i) && step[i] == IDLE -> file[i] = NONE; done() }
  /* N1 */
  :: d_step { file[i] == NONE && attempt[i] == NONE && MAY_LOCK ->
              maker = i; attempt[i] = LOCKED; sameMark[i] = !otherMark[i]; READ_EARLY(i); SINCE_AT_LOCK(i); done() }
  /* N2: the look, and after it the moment from which the wait counts */
  :: d_step { attempt[i] == LOCKED ->
       if :: here -> endAttempt(i); endWait(i) :: else -> attempt[i] = MISSED fi;
       done() }
  :: d_step { attempt[i] == MISSED -> SINCE_AFTER_LOOK(i); attempt[i] = READING; done() }
  /* N3: one beacon after the other */
  :: d_step { attempt[i] == READING && next[i] < CANDIDATES -> READ_NEXT(i); next[i] = next[i] + 1; done() }
  /* N4, and the first half of N5: the mark */
  :: d_step { attempt[i] == READING && next[i] == CANDIDATES ->
       if :: WAITED(i) ->
            attempt[i] = MARKED;
            j = 0;
            do :: j < CANDIDATES -> if :: waiting[j] -> otherMark[j] = 1 :: else fi; j++ :: else -> break od;
            j = 0
          :: else -> endAttempt(i)
       fi;
       done() }
  /* N5: the commit of the tables; who has the lock finds nothing there */
  :: d_step { attempt[i] == MARKED ->
       j = 0; do :: j < CANDIDATES -> gone(j); j++ :: else -> break od; j = 0;
       here = 1; file[i] = HERE; endWait(i); endAttempt(i); done() }
  /* the process dies, and with it its beacon and its lock; another one starts */
  :: d_step { CRASHES -> endTerm(i); endAttempt(i); endWait(i); stated[i] = 0; file[i] = NONE; done() }
  od
}
#undef i

active proctype World() {
  do
  /* somebody deletes the database */
  :: d_step { here ->
       here = 0;
       j = 0; do :: j < CANDIDATES -> gone(j); j++ :: else -> break od; j = 0;
       done() }
  :: d_step { 1 ->
       j = 0; do :: j < CANDIDATES -> tick(j); j++ :: else -> break od; j = 0;
       if :: sinceMiss < LEASE - 1 -> sinceMiss++ :: else fi;
       done() }
#if SKEW
  :: d_step { sinceMiss >= LEASE - 1 ->
       j = 1; do :: j < CANDIDATES -> tick(j); j++ :: else -> break od; j = 0;
       sinceMiss = 0; done() }
#endif
  od
}
