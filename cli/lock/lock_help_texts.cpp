// The help of `tenure lock`.
#include "cli/help_texts.hpp"

namespace tenure::cli::help {

const char* const lock = R"(tenure lock - locks for scripts and jobs

Usage: tenure lock COMMAND [OPTIONS]

Commands:
  hold      run a command while the lock is held; like flock(1)
  acquire   take a lock and print its token; it lasts its lease
  renew     start its lease again; prints the next token
  release   give it up
  show      who holds it, or whether a token still does
  list      all locks of the store
  prune     remove the records of abandoned locks

The store, for every command:
  -c, --config FILE    that of a group's YAML file (or set TENURE_CONFIG)
@STORES@  or in the environment: TENURE_LOCK_STORE, TENURE_LOCK_PATH, TENURE_LOCK_TABLE,
  TENURE_LOCK_REGION, TENURE_LOCK_ENDPOINT, TENURE_LOCK_PROFILE, ...

Exit codes:
  0    done                      2    wrong arguments, or no such token
  81   the lock was lost         82   somebody else holds it
  83   the store cannot be used  84   nobody holds it
  85   the time was over         86   it is not known whether a write arrived

Example:
  token=$(tenure lock acquire nightly --path locks.db --lease 10m) || exit
  ./first && token=$(tenure lock renew "$token" --path locks.db) && ./second
  tenure lock release "$token" --path locks.db
)";

const char* const lockAcquire = R"(tenure lock acquire - take a lock and print its token

Usage: tenure lock acquire KEY [OPTIONS]

Prints one word, the token, for renew, release and show. Nothing renews the lock
by itself: it lasts its lease, whatever becomes of this process. The lock of a
dead holder is free only after its whole lease was watched without a renewal, so
give a --wait longer than that lease. If a caller is killed before it has stored
the token: "tenure lock show KEY" shows the owner, and "tenure lock renew KEY
--owner OWNER" goes on with the lock. Or wait for the lease to end.

Options (and the store: tenure lock --help):
  --wait DURATION         how long to wait; 0s: one look (default: for ever)
  --lease DURATION        how long it lasts (default 30s, or as the file says)
  --owner NAME            a name that people recognise (default: the host's)
  --data TEXT             a text that is stored in the lock's record
  --attribute NAME=VALUE  stored there, too; may be given several times
  --sort VALUE            value of the sort key, where the table has one
  --json                  one JSON object instead of the token alone
  -h, --help              print this help and exit

Exit codes:
  0    the token is on stdout       2    wrong arguments or configuration
  82   somebody else holds the lock; stderr names the holder
  83   the store cannot be reached or used
  85   the time was over, and nobody else was seen holding it
  86   the time was over, and it is not known whether a write arrived

Example:
  tenure lock acquire nightly --path locks.db --lease 10m --wait 0s
)";

const char* const lockRenew = R"(tenure lock renew - start the lease of a lock again

Usage: tenure lock renew TOKEN [OPTIONS]
       tenure lock renew KEY --owner OWNER [OPTIONS]

Prints the next token; the old one is not valid any more. An expired lock cannot
be renewed. With --owner no token is needed: OWNER is the owner's whole text, as
"tenure lock show KEY" prints it.

Options (and the store: tenure lock --help):
  TOKEN               - reads it from stdin; without it: TENURE_LOCK_TOKEN
  --lease DURATION    how long the lock lasts from now on
  --owner OWNER       the owner of the lock KEY, instead of a token
  --sort VALUE        value of the sort key, where the table has one
  --wait DURATION     how long to try if the store does not answer (default 10s)
  --json              one JSON object instead of the token alone
  -h, --help          print this help and exit

Exit codes:
  0    the next token is on stdout
  2    wrong arguments or configuration, or TOKEN is not a token
  81   the lock is not this token's any more: expired, released, renewed by
       somebody else with the same token, or taken over
  83   the store cannot be reached or used
  86   it is not known whether the renewal arrived
)";

const char* const lockRelease = R"(tenure lock release - give a lock up

Usage: tenure lock release TOKEN [OPTIONS]
       tenure lock release KEY --owner OWNER [OPTIONS]

It is not an error to release again. The lock of another owner is never touched.

Options (and the store: tenure lock --help):
  TOKEN               - reads it from stdin; without it: TENURE_LOCK_TOKEN
  --owner OWNER       the owner of the lock KEY, instead of a token
  --sort VALUE        value of the sort key, where the table has one
  --wait DURATION     how long to try if the store does not answer (default 10s)
  --json              one JSON object
  -h, --help          print this help and exit

Exit codes:
  0    it is released, or was not held any more
  2    wrong arguments or configuration, or TOKEN is not a token
  81   somebody else had taken it over, or renewed it with the same token
  83   the store cannot be reached or used
  86   it is not known whether the release arrived
)";

const char* const lockHold = R"(tenure lock hold - run a command while a lock is held

Usage: tenure lock hold KEY [OPTIONS] -- COMMAND [ARGS...]

Waits for the lock, runs COMMAND once, renews meanwhile, and releases when
COMMAND and all its processes have ended. If the lock is lost, COMMAND gets
SIGTERM, and SIGKILL when the lease ends. It is "tenure run --once" for a lock
without a file: the environment, the signals and the guard are the same, and so
is TENURE_FENCING_TOKEN, with which COMMAND should stamp what it writes.

Options (and the store: tenure lock --help):
  --wait DURATION       how long to wait; 0s: one look (default: for ever)
  --lease DURATION      how long the lock outlives a silent holder (default 30s)
  --heartbeat DURATION  how often it is renewed (default: a third of the lease)
  --owner NAME          a name that people recognise (default: the host's)
  -h, --help            print this help and exit

Exit codes: those of COMMAND (128 + N if signal N ended it, or ended the wait
for the lock), and
  2    wrong arguments or configuration
  81   the lock was lost while COMMAND ran, and it was ended
  82   --wait: somebody else holds the lock
  1    no process can be started for COMMAND
  83   --wait: the store cannot be reached, or it can never be used
  86   --wait: it is not known whether a write arrived
  126  COMMAND cannot be executed       127  COMMAND was not found

Example:
  tenure lock hold nightly --path locks.db --wait 0s -- ./backup.sh
)";

const char* const lockShow = R"(tenure lock show - who holds a lock, or whether a token still does

Usage: tenure lock show KEY|TOKEN [OPTIONS]

Reads the record and changes nothing. The store tells whether a token is active.
On the machine and boot where the token was made, the clock tells, too.

Options (and the store: tenure lock --help):
  --sort VALUE     value of the sort key, where the table has one
  --json           one JSON object
  -h, --help       print this help and exit

Exit codes:
  0    somebody holds KEY; the TOKEN is active
  2    wrong arguments or configuration, or TOKEN is not a token
  81   the TOKEN is not active any more
  83   the store cannot be reached or used
  84   nobody holds KEY
)";

const char* const lockList = R"(tenure lock list - all locks of a store

Usage: tenure lock list [PREFIX] [OPTIONS]

States: released; corrupt (the record is not understood; the others are listed
all the same); held (by its record); with --watch also renewed (its holder was
seen renewing it) and stale (not renewed in a whole lease of watching). No wall
clock is used.

Options (and the store: tenure lock --help):
  --watch DURATION    watch for this long before the list is printed
  --json              one JSON object a line
  -h, --help          print this help and exit

Exit codes:
  0    listed    2    wrong arguments or configuration
  83   the store cannot be reached or used
)";

const char* const lockPrune = R"(tenure lock prune - remove the records of abandoned locks

Usage: tenure lock prune [PREFIX] [--abandoned DURATION] [--yes] [OPTIONS]

Says what it would remove; --yes removes it. These are the records of released
locks, and with --abandoned those of locks that are not renewed for their whole
lease plus DURATION while this command watches them. A record that changes
meanwhile is kept, and so is one that is not understood, or that says which
periods of a group's jobs were run. Fencing counters are kept in any case: the
next token of a removed lock is higher than its last.

Options (and the store: tenure lock --help):
  --abandoned DURATION  remove what nobody renews, too
  --yes                 remove, instead of saying what would be removed
  --json                one JSON object a line
  -h, --help            print this help and exit

Exit codes:
  0    done      2    wrong arguments or configuration
  83   the store cannot be reached, or could not remove something
)";

}  // namespace tenure::cli::help
