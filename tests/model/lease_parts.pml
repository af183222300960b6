/* ------------------------------------------------------------------------------------------- places of versions -- */
inline dropPend(p) { pend[p] = GONE; pendAge[p] = 0; PEND_SHORT(p, 0) }
inline tidyPend(i) {                  /* keeps the older one first */
  if :: pend[2*i] == GONE ->
       pend[2*i] = pend[2*i+1]; pendAge[2*i] = pendAge[2*i+1]; PEND_SHORT(2*i, IS_SHORT(2*i+1)); dropPend(2*i+1)
     :: else
  fi
}
inline clearPend(i) { dropPend(2*i); dropPend(2*i+1) }
inline renamePend(i, old, new) {
  if :: pend[2*i] == old -> pend[2*i] = new; if :: new == GONE -> dropPend(2*i) :: else fi :: else fi;
  if :: pend[2*i+1] == old -> pend[2*i+1] = new; if :: new == GONE -> dropPend(2*i+1) :: else fi :: else fi;
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
  ended[i] = 1; NEXT_CANDIDACY(i)
}
inline becomeLeader(i, since, token, version) {
  REQUIRE(!work[i], ONE_WORK_AT_A_TIME);
  st[i] = LEADING; age[i] = since; tok[i] = token; ver[i] = version; clearPend(i);
  obs[i] = UNKNOWN; obsAge[i] = 0; work[i] = 1; ended[i] = 0;
  over[i] = (DELETIONS && token == counter); top[i] = 0; HAS_LED(i); LEARN(i, token)
}
/* Sends a write on condition that the record has a version that this holder may have left. */
inline sendOwn(i, what) {
  rq[i] = what; ph[i] = SENT; rqLong[i] = lengthened[i]; rage[i] = (lengthened[i] -> 0 : DELTA);
  if :: what == RENEW && !lengthened[i] -> LIMIT_RIGHT(i) :: else fi;
  wStored[i] = (ver[i] == STORED || pend[2*i] == STORED || pend[2*i+1] == STORED);
  wLate[i] = (pend[2*i] == LATE || pend[2*i+1] == LATE)
}
/* The record as it is now goes into a reply to candidate i. */
inline tell(i, withToken) {
  ph[i] = REPLIED; wStored[i] = 0; wLate[i] = 0; wNone[i] = 0; NO_TOKEN(i);
  if :: recHere ->
       reply[i] = SHOWS_RECORD; shown[i] = STORED; shownOwn[i] = (recOwner == i); shownReleased[i] = recReleased;
       if :: TELLS_TOKEN(i, withToken) -> rtok[i] = recToken :: else fi
     :: open != ENDED && !recHere ->
       reply[i] = SHOWS_RECORD; shown[i] = STORED; shownOwn[i] = 0; shownReleased[i] = 0; COUNTER_TOLD(i)
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
  if :: st[i] == ACQUIRING && !SHORTCUT(i) -> REST(i) :: else fi;
  st[i] = CANDIDATE; LOOKED(i); NO_LENGTH(i);
  if
  :: pendShown(i) && MAY_LEAD(i) && RISES(i) ->
       if :: pend[2*i] == shown[i] -> k = ADOPTED(pendAge[2*i]) :: else -> k = ADOPTED(pendAge[2*i+1]) fi;
       becomeLeader(i, k, rtok[i], shown[i])
  :: else -> observe(i)
  fi;
  POLLED(i, 1);
  LEARN(i, rtok[i]);
  clearRequest(i);
  compact()
}

/* Somebody else owns the record, or it is gone: the term is over at once. */
inline loseTerm(i) {
  REQUIRE(!(recHere && recOwner == i && !recReleased && recToken == tok[i]), STABLE_LEADER);
  age[i] = VALID; lengthened[i] = 0;
  st[i] = CANDIDATE; tok[i] = 0; ver[i] = GONE; clearPend(i); obs[i] = UNKNOWN; obsAge[i] = 0; ended[i] = 1;
  NEXT_CANDIDACY(i)
}
/* A holder is shown the record, by a conflict or by a read-back. */
inline seeAsHolder(i) {
  if
  :: reply[i] == SHOWS_NONE || !shownOwn[i] || shownReleased[i] -> loseTerm(i); observe(i)
  :: else ->
       if
       :: pend[2*i] == shown[i] ->       /* it landed; a later one may still arrive */
            age[i] = PROVEN(i, pendAge[2*i], 2*i+1); ver[i] = shown[i]; dropPend(2*i); tidyPend(i)
       :: else ->
            if
            :: pend[2*i+1] == shown[i] -> age[i] = PROVEN_LAST(i, pendAge[2*i+1]); ver[i] = shown[i]; clearPend(i)
            :: else -> if :: ver[i] == shown[i]    /* none has landed; they stay in the next condition */
                          :: else -> loseTerm(i); observe(i)
                       fi
            fi
       fi
  fi;
  LEARN(i, rtok[i]);
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
  if :: st[i] == ACQUIRING -> REST(i); NO_LENGTH(i); UNANSWERED_ACQUISITION(i) :: else fi;
  if :: st[i] == RELEASING -> k = 0 :: else fi;
  fits = !rqLong[i];
  clearRequest(i);
  if :: n != GONE && k < VALID ->
       if :: pend[2*i] == GONE -> pend[2*i] = n; pendAge[2*i] = k; PEND_SHORT(2*i, fits)
          :: else -> pend[2*i+1] = n; pendAge[2*i+1] = k; PEND_SHORT(2*i+1, fits)
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
  forgetTerm(i); FORGET_ALL(i);
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
  TAKEN_BY(i);
  TRACELESS;
  EACH(replaced);
  recHere = 1; recOwner = owner; recLong = longer; fHolds = 0; fAge = 0;
  if
  :: what == ACQUIRE ->
       NEXT_TOKEN; WRITE_OPEN; EACH(newTerm);
       REQUIRE(recToken > issued, TOKENS_RISE);
       issued = (recToken > issued -> recToken : issued);
       KEEP_RELEASED
  :: what == RENEW -> recReleased = 0; RAISE_OPEN
  :: else -> recReleased = 1; AFTER_RELEASE
  fi;
  told = 0
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
  st[i] = ACQUIRING; rq[i] = ACQUIRE; ph[i] = SENT; rqLong[i] = lengthened[i]; rage[i] = (lengthened[i] -> 0 : DELTA);
  SEND_FLOOR(i);
  wStored[i] = (obs[i] == PRESENT); wNone[i] = (obs[i] == ABSENT)
}
inline acquireAnswered(i) {
  if
  :: reply[i] == APPLIED ->
       if
       :: !RISES(i) -> st[i] = CANDIDATE; NO_LENGTH(i); LEARN(i, rtok[i]); MUST_READ(i); clearRequest(i)
       :: RISES(i) && rage[i] < VALID -> k = rage[i]; becomeLeader(i, ANSWERED(k), rtok[i], reqv[i]); clearRequest(i)
       :: else -> forgetTerm(i); age[i] = VALID
       fi;
       compact()
#ifdef CONFLICT_IS_NO_LOOK            /* mutant: a refused acquisition is sent again as it was */
  :: else -> st[i] = CANDIDATE; clearRequest(i); compact()
#else
  :: else -> seeAsCandidate(i)
#endif
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
  :: reply[i] == APPLIED -> k = reqv[i]; forgetTerm(i); REMEMBER_RELEASED(i, k)
  :: else ->
       ver[i] = GONE; clearPend(i); st[i] = CANDIDATE; obs[i] = UNKNOWN; obsAge[i] = 0; lengthened[i] = 0;
       LEARN(i, rtok[i]); AFTER_REFUSED_RELEASE(i); clearRequest(i)
  fi
}
/* A candidacy ends without a term. An acquisition without an answer may still arrive, and is released then. */
inline giveUp(i) {
  clearRequest(i);
  if
  :: pending(i) -> st[i] = RELEASING; ver[i] = GONE; pendAge[2*i] = 0; pendAge[2*i+1] = 0; obs[i] = UNKNOWN; obsAge[i] = 0;
                   LOOKED(i)
  :: else -> RECALL(i)
  fi;
  compact()
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

