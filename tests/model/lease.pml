/*
 * The protocol of tenure as a Promela model, for the model checker SPIN. tests/model/README.md explains it to readers who
 * have never seen Promela; run_model.py runs it.
 *
 * It belongs together with transitions.cpp, which says the same steps of a candidate once more in C++, and against
 * which conformance_test.cpp holds the real LeaseMachine. Change both, or neither.
 *
 * Each option of the loop at the end is one step of a candidate, the network, the store, an operator, a worker or the
 * clocks. A step is atomic; between two steps anything may happen, and any step may be put off for ever.
 */

#include "lease_state.pml"
#include "lease_mutants.pml"
#include "lease_parts.pml"

/* --------------------------------------------------------------------------------------------------------- clocks */
inline agePend(p) {
  if :: pend[p] != GONE -> pendAge[p] = pendAge[p] + 1; if :: pendAge[p] >= VALID -> dropPend(p) :: else fi :: else fi
}
inline tick(i) {
  POLLED(i, 0); RESTED(i);
  if :: age[i] < VALID ->
       age[i] = age[i] + 1;
       if :: st[i] == LEADING && age[i] == VALID -> ended[i] = 1 :: else fi;
       OUTLASTED(i)
     :: else
  fi;
  if :: calm && st[i] == CANDIDATE -> RECALL(i) :: else fi;       /* the next one looks, once */
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
#define mayRead(i) (st[i] == CANDIDATE && ph[i] == IDLE && (WORTH_READING(i) || IS_TO_READ(i)))
#define mayAcquire(i) (st[i] == CANDIDATE && ph[i] == IDLE && MAY_LEAD(i) && !IS_TO_READ(i) && !RESTS(i) && \
                       ((obsAge[i] >= LEASE && (obs[i] == PRESENT || obs[i] == ABSENT)) || SHORTCUT(i)))
#define mayGiveUp(i) (ONETERM && st[i] == CANDIDATE && (ph[i] == IDLE || rq[i] == READ))
#define mayRenew(i) (holds(i) && valid(i) && ph[i] == IDLE && (age[i] > 0 || pending(i)))
#define mayChange(i) (leads(i) && ph[i] == IDLE)
#define writeSent(i) (ph[i] == SENT && rq[i] != READ)
#define workMayEnd(i) (work[i] && st[i] != LEADING && !(st[i] == DRAINING && !valid(i)))
/* It has done what it has to do at this time: without faults everybody is quick, and time passes only then. */
#define quiet(i) (IS_DEAD(i) || (ph[i] == IDLE && !mayRead(i) && !mayAcquire(i) && !mayRenew(i) && !workMayEnd(i) && \
                  !(holds(i) && !valid(i)) && st[i] != RELEASING))
#define FAULTS_END EACH(dropLate); calm = 1
#if DIES
#define IS_DEAD(i) dead[i]
#define DIE(i) crash(i); dead[i] = 1
#else
#define IS_DEAD(i) 0
#endif
/* The record and the counter are not both lost in one term, unless that is what is looked at. */
#define counterHere (LOSES != 1 || counter != 0)
/* A client of another make knows no counter. Where somebody has deleted a living holder's record it takes the lease at
   once, and nothing here can keep it from that: so it does that only where nobody has a right or is about to find one. */
#define mayHold(i) (valid(i) || reply[i] == APPLIED || shownOwn[i])
#define fFree (recReleased || (!recHere && !SUM(mayHold)))
#define TICK_OTHER if :: FOREIGN && fAge < LEASE -> fAge++ :: else fi
#define timeMayPass (faulty || ALL(quiet))
#define COUNT_CALM if :: !LIVE && calm && calm <= CALM_BOUND -> calm++ :: else fi

#define i _pid
active [CANDIDATES] proctype Candidate() provided (!IS_DEAD(i)) {
  do
  :: d_step { mayRead(i) -> sendRead(i); done() }
  :: d_step { mayAcquire(i) -> sendAcquire(i); done() }
  :: d_step { EITHER && mayAcquire(i) -> lengthened[i] = 1; sendAcquire(i); done() }
  :: d_step { faulty && mayGiveUp(i) -> giveUp(i); done() }
  :: d_step { st[i] == CANDIDATE && ph[i] == REPLIED -> seeAsCandidate(i); done() }
  :: d_step { st[i] == ACQUIRING && ph[i] == REPLIED -> acquireAnswered(i); done() }
  :: d_step { mayRenew(i) -> sendOwn(i, RENEW); done() }
  :: d_step { LENGTHENS && mayChange(i) && !lengthened[i] ->
              lengthened[i] = 1; sendOwn(i, RENEW); LENGTHEN_RIGHT(i); done() }
  :: d_step { SHORTENS && mayChange(i) && lengthened[i] ->
              lengthened[i] = 0; sendOwn(i, RENEW); done() }
  :: d_step { holds(i) && valid(i) && ph[i] == IDLE && pending(i) -> sendRead(i); done() }
  :: d_step { holds(i) && IN_TIME(i) && ph[i] == REPLIED -> renewAnswered(i); done() }
  :: d_step { holds(i) && !valid(i) -> expire(i); done() }
  :: d_step { LATES && faulty && holds(i) && !valid(i) && writeSent(i) -> makeLate(i); expire(i); done() }
  :: d_step { faulty && ph[i] != IDLE && (!holds(i) || valid(i)) -> unanswered(i, 0); compact(); done() }
  :: d_step { LATES && faulty && writeSent(i) && (!holds(i) || valid(i)) -> unanswered(i, 1); done() }
  :: d_step { faulty && leads(i) -> stepDown(i); done() }
  :: d_step { workMayEnd(i) -> workEnds(i); done() }
  :: d_step { DRAINOUTS && faulty && st[i] == DRAINING && valid(i) -> forgetTerm(i); LEAVE_TO_EXPIRE(i); compact(); done() }
  :: d_step { DRAINOUTS && LATES && faulty && st[i] == DRAINING && valid(i) && writeSent(i) ->
              makeLate(i); forgetTerm(i); LEAVE_TO_EXPIRE(i); compact(); done() }
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
            n = rq[i]; told = rtok[i]; apply(i, n, i, rqLong[i]);
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
  :: d_step { DELETIONS && faulty && recHere && counterHere ->
       EACH(replaced);
       removeRecord(); COUNTER_AFTER_DELETE;
       compact(); done() }
  /* or removes it by tenure's own command, which knows what the record says of its term */
  :: d_step { DELETIONS && faulty && recHere && recOwner != OTHER ->
       EACH(replaced);
       PRUNED; removeRecord();
       compact(); done() }
  /* somebody deletes the counter, or another make's client takes it for a lock */
  :: d_step { LOSES && faulty && counter != 0 && (LOSES == 2 || recHere) -> counter = 0; open = ENDED; compact(); done() }
  /* the client of another make has seen no change for a lease, or finds it free; it renews, and lets go by deleting */
  :: d_step { FOREIGN && faulty && !fHolds && (fAge >= LEASE || fFree) ->
       EACH(replaced);
       removeRecord(); recHere = 1; recOwner = OTHER; recLong = 1; fHolds = 1;
       compact(); done() }
  :: d_step { FOREIGN && faulty && fHolds && fAge > 0 && fValid -> EACH(replaced); fAge = 0; compact(); done() }
  :: d_step { FOREIGN && fHolds && counterHere -> EACH(replaced); removeRecord(); compact(); done() }
  :: d_step { timeMayPass ->
       EACH(tick); TICK_OTHER;
       if :: sinceMiss < LEASE - 1 -> sinceMiss++ :: else fi;
       COUNT_CALM; done() }
#if SKEW
  :: d_step { timeMayPass && sinceMiss >= LEASE - 1 -> EACH_FAST(tick); TICK_OTHER; sinceMiss = 0; COUNT_CALM; done() }
#endif
#if CALM
  /* the last fault was before; what was late has arrived, or is lost */
  :: d_step { faulty -> FAULTS_END; done() }
#if DIES
  :: d_step { faulty -> DIE(0); FAULTS_END; compact(); done() }
  :: d_step { faulty -> DIE(1); FAULTS_END; compact(); done() }
#endif
#endif
  od
}

#if LIVE
/* Under weak fairness: whoever has something to do for ever does it at last. */
ltl SOMEBODY_LEADS { (<> (calm > 0)) -> (<> [] (SUM(leads) == 1)) }
#endif
