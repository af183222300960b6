/* -------------------------------------------------------------------------------------------------- the mutants -- */
/* Rules taken away one at a time, to show that the properties notice. tests/model/README.md says what each one teaches. */
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
#define RAISE_OPEN if :: recLong && open != LONGER -> open = LONGER; counter = (recToken > counter -> recToken : counter) \
                      :: else fi
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
#else                                 /* the counter keeps the record's copy and, of a held one, its lease */
#define PRUNED counter = (recToken > counter -> recToken : counter); \
               if :: recReleased -> open = ENDED :: else -> open = (recLong -> LONGER : SHORTER) fi
#endif
#ifdef ANY_FOREIGN_IS_PROOF           /* mutant: who saw the other make's record takes any later term for over */
bit sawOther[CANDIDATES];
#define SAW(i, other) sawOther[i] = other
#define KNOWN_OVER(i) (over[i] || sawOther[i])
#else
#define SAW(i, other) skip
#ifdef ANY_OWN_IS_PROOF               /* mutant: who has led takes any later term for over */
bit hasLed[CANDIDATES];
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
#ifdef STATED_LEASE_IGNORED           /* mutant: a challenger waits for the lease that it would ask for itself */
#define FIRST_SEEN(i, states_longer) obsAge[i] = DELTA
#else
#define FIRST_SEEN(i, states_longer) obsAge[i] = (states_longer -> 0 : DELTA)
#endif
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
#define MAY_LEAD(i) (ONETERM || !work[i])
#endif
#ifdef PROVEN_COUNTS_FROM_NOW         /* mutant: a write found by read-back counts from the read-back */
#define COUNTED(a) 0
#else
#define COUNTED(a) a
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
#define ACQUIRE_FITS(i) (AS_LEFT(i) || SAME_VANISHED(wStored[i], i) || (!recHere && NOTHING_OPEN && wNone[i]))
#endif
#ifdef TOKEN_ON_CREATE_ONLY           /* mutant: a takeover inherits the token */
#define NEXT_TOKEN if :: recToken == 0 -> counter++; recToken = counter :: else fi
#else
#ifdef COUNTER_ALONE                  /* mutant: neither the record's copy nor what the candidate has seen counts */
#define NEXT_TOKEN counter++; recToken = counter
#else
#define NEXT_TOKEN counter = (counter > recToken -> counter : recToken); counter = (told > counter -> told : counter) + 1; \
                   recToken = counter
#endif
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
bit polled[CANDIDATES];
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
#define RAGE_OF_READ(i) ((SHORTENS || EITHER) && rq[i] == READ && holds(i))
#define MAX_RAGE VALID
#endif

#ifdef ANSWER_AWAITED_FOR_EVER        /* mutant: an acquisition without an answer is awaited for ever */
#define UNANSWERED_ACQUISITION(i) skip
#else
#define UNANSWERED_ACQUISITION(i) st[i] = CANDIDATE
#endif

/* ----------------------------------------------------------------------------------------- leases of two lengths -- */
#if SHORTENS || EITHER
#define PEND_SHORT(p, yes) pendShort[p] = yes
#define IS_SHORT(p) pendShort[p]
#define NO_LENGTH(i) lengthened[i] = 0
#ifdef SHORTENED_TOO_LATE             /* mutant: the right is as long as before until the shorter lease is acknowledged */
#define LIMIT_RIGHT(i) skip
#else                                 /* from when it is sent a challenger may find the shorter one in the record */
#define LIMIT_RIGHT(i) if :: age[i] < DELTA -> age[i] = DELTA :: else fi
#endif
/* A look shows an older write, and a later one that states a shorter lease may have arrived since it was asked for. */
#define SINCE_ASKED(i) (rage[i] + (rq[i] == READ || rqLong[i] -> DELTA : 0))
#ifdef LATER_SHORTER_IGNORED          /* mutant: the right that a look proves knows nothing of later writes */
#define LIMITED(i, a, later) COUNTED(a)
#else
#define LIMITED(i, a, later) (pend[later] != GONE && pendShort[later] && SINCE_ASKED(i) > COUNTED(a) -> SINCE_ASKED(i) : COUNTED(a))
#endif
#define PROVEN(i, a, later) (LIMITED(i, a, later) < age[i] -> LIMITED(i, a, later) : age[i])
#define PROVEN_LAST(i, a) (COUNTED(a) < age[i] -> COUNTED(a) : age[i])
#else
#define PEND_SHORT(p, yes) skip
#define IS_SHORT(p) 0
#define NO_LENGTH(i) skip
#define LIMIT_RIGHT(i) skip
#define PROVEN(i, a, later) COUNTED(a)
#define PROVEN_LAST(i, a) COUNTED(a)
#endif
#ifdef LENGTHENED_TOO_EARLY           /* mutant: the longer lease counts from when it is asked for */
#define LENGTHEN_RIGHT(i) if :: age[i] >= DELTA -> age[i] = age[i] - DELTA :: else fi
#else
#define LENGTHEN_RIGHT(i) skip
#endif

/* -------------------------------------------------------------------------------------- candidacies of one term -- */
#if ONETERM
#define SHORTCUT(i) left[i]
#define LOOKED(i) left[i] = 0; mustRead[i] = 0
#define MUST_READ(i) if :: obs[i] == PRESENT || obs[i] == ABSENT -> mustRead[i] = 1 :: else fi
#define IS_TO_READ(i) mustRead[i]
#define FORGET_ALL(i) left[i] = 0; mustRead[i] = 0; FORGET_TOKENS(i)
/* A term that is over; work that was not done in time may go on while the right lasts. */
#define NEXT_CANDIDACY(i) left[i] = 0; mustRead[i] = 0; if :: !valid(i) -> work[i] = 0 :: else fi
#define OUTLASTED(i) if :: !valid(i) && !holds(i) -> work[i] = 0 :: else fi
#define REMEMBER_RELEASED(i, v) left[i] = 1; obsAge[i] = LEASE; \
        if :: RELEASES == 2 -> obs[i] = ABSENT \
           :: RELEASES != 2 && v == STORED -> obs[i] = PRESENT \
           :: else -> obs[i] = OUTDATED; obsAge[i] = 0 \
        fi
#define AFTER_REFUSED_RELEASE(i) NEXT_CANDIDACY(i)
#ifdef RECALLED_AS_WAITED             /* mutant: what the candidacy before has seen counts as waited for */
#define RECALL(i) obsAge[i] = LEASE; MUST_READ(i)
#else
#ifdef MEMORY_FORGOTTEN               /* mutant: each candidacy begins to wait anew */
#define RECALL(i) obs[i] = UNKNOWN; obsAge[i] = 0; left[i] = 0; mustRead[i] = 0
#else
#define RECALL(i) left[i] = 0; MUST_READ(i)
#endif
#endif
#ifdef LEFT_IS_STILL_THERE            /* mutant: what was released by the own hand is taken without a condition */
#define AS_LEFT(i) left[i]
#else
#define AS_LEFT(i) 0
#endif
#ifdef UNDRAINED_IS_OWN               /* mutant: a lease that is left to expire is free to its own process */
#define LEAVE_TO_EXPIRE(i) skip
#else
#define LEAVE_TO_EXPIRE(i) if :: recHere && recOwner == i -> recOwner = FORMER :: else fi; \
                           if :: late[i] != NONE -> lFormer[i] = 1 :: else fi
#endif
#else
#define SHORTCUT(i) 0
#define LOOKED(i) skip
#define MUST_READ(i) skip
#define IS_TO_READ(i) 0
#define FORGET_ALL(i) FORGET_TOKENS(i)
#define NEXT_CANDIDACY(i) skip
#define OUTLASTED(i) skip
#define REMEMBER_RELEASED(i, v) skip
#define AFTER_REFUSED_RELEASE(i) observe(i)
#define AS_LEFT(i) 0
#define LEAVE_TO_EXPIRE(i) skip
#define RECALL(i) skip
#endif

/* ------------------------------------------------------------------------------------- a counter that may be lost -- */
#if LOSES
#define TELLS_TOKEN(i, withToken) 1
#define NO_TOKEN(i) rtok[i] = 0
#define COUNTER_TOLD(i) rtok[i] = counter
#define RISES(i) (rtok[i] > floor[i] || (rtok[i] == floor[i] && st[i] != ACQUIRING))
#define LEARN(i, t) floor[i] = (t > floor[i] -> t : floor[i])
#define SEND_FLOOR(i) rtok[i] = floor[i]
#define FORGET_TOKENS(i) floor[i] = 0
#ifdef TRACELESS_FROM_ONE             /* mutant: where neither counter nor copy is left beside another make's record */
#define TRACELESS skip
#else                                 /* the seconds since 1970 are above all that was ever given */
#define TRACELESS if :: recHere && recToken == 0 && counter == 0 -> told = issued :: else fi
#endif
#else
#define TELLS_TOKEN(i, withToken) (recOwner == i && withToken)
#define NO_TOKEN(i) skip
#define COUNTER_TOLD(i) skip
#define RISES(i) 1
#define LEARN(i, t) skip
#define SEND_FLOOR(i) skip
#define FORGET_TOKENS(i) skip
#define TRACELESS skip
#endif

/* ------------------------------------------------------------------------------------------------------ a back-off -- */
#if BACKOFF
#define REST(i) rests[i] = 1
#define RESTS(i) rests[i]
#ifdef BACKOFF_WITHOUT_END            /* mutant: who has failed waits for ever */
#define RESTED(i) skip
#else
#define RESTED(i) rests[i] = 0
#endif
#else
#define REST(i) skip
#define RESTS(i) 0
#define RESTED(i) skip
#endif
