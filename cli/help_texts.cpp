#include "help_texts.hpp"

namespace tenure::cli::help {

const char* const program = R"(tenure - leader election: of several copies of a program, exactly one acts

Usage: tenure COMMAND [OPTIONS]

Commands:
  init      write a commented sample configuration file
  check     validate a configuration file, and reach its store
  doctor    look for what would make an election misbehave here
  run       compete, and run a program while this copy leads
  lock      hold a lock while a command runs, or from one command to the next
  status    show who leads
  resign    ask the leader to step down, so that another copy takes over
  pause     keep everybody from leading for some time
  resume    end a pause
  history   show the last terms of a running copy
  watch     show a running copy on the terminal, all the time
  jobs      show which periods of a job were run, and by whom
  store     print the SQL that a store needs, for a DBA
  fence     keep former leaders from a resource

Options:
  -h, --help    print this help and exit; tenure COMMAND --help tells more
  --version     print the version and exit

The first steps:
  tenure init group.yaml
  tenure check --config group.yaml
  tenure run --config group.yaml -- ./job       (in two or more terminals)
  tenure status --config group.yaml

Exit codes: 0 done, 1 failed, 2 wrong arguments or configuration; each command's
help lists its own. The whole manual is docs/reference/program.md.
)";

const char* const run = R"(tenure run - compete for a lease, and run a program while this copy leads

Usage: tenure run --config FILE [--once] [--wait DURATION [--busy-ok]]
                  [--per DURATION | --schedule CRON [--time-zone ZONE]]
                  [--guarantee G] [--missed M] [--job NAME]
                  [--http ADDRESS] [--notify job] -- COMMAND [ARGS...]

COMMAND is started when this copy is elected and ended when leadership ends: it
gets SIGTERM, and SIGKILL after lease.drain_timeout or when the lease ends,
whichever comes first. If it ends by itself, the lease is released at once and
this copy competes again after a pause of one lease duration (longer after
repeated failures).

With --per, --schedule or a --job of the file, COMMAND is a periodic job: the
copy that leads starts it once in each period, and leads on between the runs.
The leader's record says which periods were run, so no other copy and no later
start runs one again. Wall clocks name the periods and decide nothing else.

Commands of the file's section hooks run before COMMAND starts, at each renewal,
and when COMMAND has ended.

Options:
  -c, --config FILE    the group's YAML file (or set TENURE_CONFIG)
  --once               run COMMAND in one term only; exit with its exit code.
                       A periodic job: run what is due now, if anything is
  --wait DURATION      exit with code 82 if not elected within this time, such
                       as 30s; 0s: as soon as somebody else is seen leading
  --busy-ok            with --once and --wait: 0 instead if somebody else leads
  --per DURATION       periods of this length, counted from 1970 on in UTC
  --schedule CRON      periods begin as crontab says: "0 3 * * *", @daily
  --time-zone ZONE     of --schedule, such as Europe/Berlin (default UTC)
  --guarantee G        at_most_once (default): a run that was begun is never
                       repeated; at_least_once: until a run exits with 0
  --missed M           periods in which no run began: skip, once (default: the
                       present one at any time in it), all (in their order)
  --job NAME           a job of the file's section jobs; beside --per or
                       --schedule: the name of this one (default job)
  --http ADDRESS       show over HTTP who leads: 127.0.0.1:9200, [::1]:9200 or
                       unix:/PATH (/leader, /metrics, /status, /history, ...);
                       instead of the file's http.listen; off: nowhere
  --notify job         under systemd: COMMAND may notify as well (it finds
                       NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID)
  -h, --help           print this help and exit

COMMAND finds in its environment:
  TENURE_FENCING_TOKEN    number of this term; stamp every write with it, so
                          that the resource can refuse a former leader
  TENURE_LEASE, TENURE_GROUP, TENURE_CANDIDATE, TENURE_STORE, TENURE_CONFIG,
  TENURE_LEASE_DURATION, TENURE_DRAIN_TIMEOUT, TENURE_JOB
  TENURE_PROGRESS_FD      only with lease.progress_timeout: write a byte to this
                          descriptor at least that often, else the lease ends
  TENURE_JOB_NAME, TENURE_PERIOD (2026-11-21T03:00:00Z), TENURE_PERIOD_EPOCH
  (in seconds), TENURE_ATTEMPT (1, 2, ...)    of a periodic job's run

Signals: SIGTERM, SIGINT and SIGHUP stop politely (end COMMAND, release, exit);
a second one (500 ms later or more), or SIGQUIT, kills COMMAND at once. SIGUSR1
and SIGUSR2 go to COMMAND.

Exit codes:
  0    stopped by a signal; with --once: nothing was due, or COMMAND's own code
       (128 + N if signal N ended it, or this program before COMMAND ran)
  1    failed              2    wrong arguments or configuration
  80   on_lost: terminate, and COMMAND did not end in time; it was killed
  81   --once: leadership was lost before COMMAND was done; it was ended
  82   --wait: not elected in time, somebody else leads
  83   the store can never be used as it is configured, or did not take the
       begin of a run; --wait: not elected in time, the store cannot be reached
  86   --wait: not elected in time; it is not known whether an attempt arrived
  126  COMMAND cannot be executed
  127  COMMAND was not found

Examples:
  tenure run --config group.yaml -- ./scheduler --verbose
  tenure run -c group.yaml --schedule "0 3 * * *" -- ./nightly-report
  tenure run -c group.yaml --once --wait 0s --busy-ok --per 24h -- ./backup
)";

const char* const status = R"(tenure status - show who leads

Usage: tenure status FILE [--json] [--watch]

Reads the store and changes nothing. The times are by the wall clock of the
leader's machine, for people. A leader that seems silent by them is watched
for half of its lease before it is called so.

Options:
  -c, --config FILE    the group's YAML file (or set TENURE_CONFIG)
  --json               one JSON object on one line, with stable keys
  --watch              print it again at each change, until ^C
  -h, --help           print this help and exit

Exit codes:
  0    somebody leads      2    wrong arguments or configuration
  83   the store cannot be reached
  84   nobody leads, the group is paused, or the holder did not renew while
       it was watched

Examples:
  tenure status --config group.yaml
  tenure status --config group.yaml --json | jq .fencing_token
)";

const char* const check = R"(tenure check - validate a configuration file

Usage: tenure check FILE [--connect] [--effective]

Reports every fault at once, as FILE:LINE:COLUMN: KEY: what is wrong and what is
allowed. Creates and contacts nothing, unless --connect is given. A store that
can only be used elsewhere, such as in a pod, is no fault of the file.

Options:
  -c, --config FILE    the group's YAML file (or set TENURE_CONFIG)
  --connect            reach the store too, and create what it needs if missing.
                       PostgreSQL: if this role may not create it, or lacks a
                       right, print the SQL for somebody who may, on stdout.
                       With routing: name the rights on pods that are missing
  --effective          print the whole configuration with every default
  -h, --help           print this help and exit

Exit codes:
  0    the file is good, and with --connect the store is usable
  2    the file has faults; they are on stderr
  83   the store cannot be reached or used

Example:
  tenure check --config group.yaml --connect
)";

const char* const doctor = R"(tenure doctor - look for what would make an election misbehave here

Usage: tenure doctor FILE [--write] [--json]

Looks at the clocks, the store and how quickly it answers, the files and their
rights, the limits and the versions, as this user, on this machine. Each finding
is ok, a warning or a fault, with what to do. It takes some seconds.

Nothing is written, unless --write is given.

Options:
  -c, --config FILE    the group's YAML file (or set TENURE_CONFIG)
  --write              make the store ready, as tenure check --connect does, and
                       measure writes: renewals of the lease "tenure-doctor",
                       which is removed afterwards. Its counter stays.
  --json               one JSON object on one line, with stable keys
  -h, --help           print this help and exit

Exit codes:
  0    nothing worse than a warning
  2    wrong arguments or configuration
  87   a fault was found; also if the store cannot be reached

Examples:
  tenure doctor --config group.yaml --write
  tenure doctor --config group.yaml --json | jq '.findings[] | select(.do)'
)";

const char* const init = R"(tenure init - write a commented sample configuration file

Usage: tenure init [FILE] [--store STORE] [--force]

Options:
  FILE             the file to write, group.yaml if not given; - is stdout
  --store STORE    where the lease is kept (the first if not given):
@STORES@
  --force          replace FILE if it exists
  -h, --help       print this help and exit

Exit codes:
  0    written             1    FILE exists, or cannot be written
  2    wrong arguments

Examples:
  tenure init billing.yaml && tenure check --config billing.yaml
  tenure init billing.yaml --store postgresql
)";

const char* const store = R"(tenure store - what a store needs

Usage: tenure store COMMAND [OPTIONS]

Commands:
  sql           print the SQL of the table and of the rights, for a DBA

Options:
  -h, --help    print this help and exit; tenure store COMMAND --help tells more

Exit codes: 0 done, 1 failed, 2 wrong arguments or configuration.
)";

const char* const storeSql = R"(tenure store sql - print the SQL of a store's table and of the rights on it

Usage: tenure store sql --config FILE [--role ROLE]
       tenure store sql --dialect postgresql [--schema SCHEMA] [--table TABLE]
                        [--role ROLE]

Prints a script for a DBA or a migration: the table of the leases, if it is not
there, and the rights that candidates need on it, and no more. It may be run
again. Nothing is connected to. A program whose role may create the table needs
none of this: it creates the table itself.

Options:
  -c, --config FILE    the group's YAML file, whose store is postgresql (or set
                       TENURE_CONFIG)
  --dialect DIALECT    postgresql (14 or later), if there is no file yet
  --schema SCHEMA      where the table is (public)
  --table TABLE        its name (tenure_lease)
  --role ROLE          who gets the rights: the role of the candidates. If it is
                       not given: store.user of the file, or a placeholder
  -h, --help           print this help and exit

Exit codes:
  0    printed
  1    failed
  2    wrong arguments or configuration, or a store that needs no SQL

Example:
  tenure store sql --config group.yaml --role scheduler \
      | psql --set ON_ERROR_STOP=1 "$DATABASE_URL"
)";

}  // namespace tenure::cli::help
