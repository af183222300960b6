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
leader's machine, for people; no decision of the election uses them.

Options:
  -c, --config FILE    the group's YAML file (or set TENURE_CONFIG)
  --json               one JSON object on one line, with stable keys
  --watch              print it again at each change, until ^C
  -h, --help           print this help and exit

Exit codes:
  0    somebody leads      2    wrong arguments or configuration
  83   the store cannot be reached
  84   nobody leads, the group is paused, or the holder has been silent for
       longer than its lease

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

const char* const resign = R"(tenure resign - ask the leader to step down, so that another copy takes over

Usage: tenure resign FILE [--wait DURATION]

The leader sees the wish at its next heartbeat, ends its work, releases the
lease and does not compete for one lease duration. If no other copy is running,
it leads again after that.

Options:
  -c, --config FILE    the group's YAML file (or set TENURE_CONFIG)
  --wait DURATION      how long to wait until the leader has stepped down
                       (default 1m; 0s: only ask)
  -h, --help           print this help and exit

Exit codes:
  0    it has stepped down (with --wait 0s: it was asked to)
  1    the leader is of another client, which cannot be asked
  2    wrong arguments or configuration
  83   the store cannot be reached
  84   nobody leads, or the group is paused
  85   it had not stepped down in time; it was asked and may still do so

Example:
  tenure resign --config group.yaml --wait 30s
)";

const char* const history = R"(tenure history - show the last terms of a running copy

Usage: tenure history FILE [--json]
       tenure history --http ADDRESS [--json]

Asks a copy that runs with --http or http.listen. A copy keeps the last 128
events of its own terms: elections, revocations with their reasons, doubts,
refusals by resources. The times are by its machine's wall clock.

Options:
  -c, --config FILE    the group's YAML file, whose http.listen is asked (or set
                       TENURE_CONFIG)
  --http ADDRESS       whom to ask instead: 127.0.0.1:9200 or unix:/PATH
  --json               one JSON object on one line, with stable keys
  -h, --help           print this help and exit

Exit codes:
  0    shown               1    nobody answers at that address
  2    wrong arguments or configuration

Example:
  tenure history --http 127.0.0.1:9200
)";

const char* const watch = R"(tenure watch - show a running copy on the terminal, all the time

Usage: tenure watch FILE
       tenure watch --http ADDRESS

Asks a copy that runs with --http or http.listen twice a second: whether it
leads, for how long its lease is valid unless it is renewed, who leads, its last
terms, and what is wrong. After two seconds without an answer it says that
nothing is known. In 80 columns; ends by Ctrl-C. Where stdout is no terminal it
prints once.

Options:
  -c, --config FILE    the group's YAML file, whose http.listen is asked (or set
                       TENURE_CONFIG)
  --http ADDRESS       whom to ask instead: 127.0.0.1:9200 or unix:/PATH
  -h, --help           print this help and exit

Exit codes:
  0    shown               1    nobody answers at that address
  2    wrong arguments or configuration

Example:
  tenure watch --http 127.0.0.1:9200
)";

const char* const pause = R"(tenure pause - keep everybody from leading for some time

Usage: tenure pause FILE --for DURATION --why TEXT [--wait DURATION]

Takes the group's lease for an operator, so that nobody is elected. Who leads is
asked to step down first, as tenure resign does; its work ends in order. If the
group is paused already, that pause gets this length, and keeps its words.

tenure resume ends the pause at once. Without it candidates take over when each
has watched the whole pause by its own clock: one that was started later, later.

Options:
  -c, --config FILE    the group's YAML file (or set TENURE_CONFIG)
  --for DURATION       how long, from now on: 1s to 24h
  --why TEXT           for those who ask why nobody leads; every status shows it
  --wait DURATION      how long to try (default 1m): while the work ends, and
                       while other candidates take the lease in between
  -h, --help           print this help and exit

Exit codes:
  0    paused             1    failed
  2    wrong arguments or configuration
  83   the store cannot be reached
  85   not paused in time; a leader that was asked may still step down
  86   the time was over while a write was not answered: see tenure status

Example:
  tenure pause --config group.yaml --for 2h --why "new disks in db1"
)";

const char* const resume = R"(tenure resume - end a pause

Usage: tenure resume FILE

Releases the lease that tenure pause took, so that a candidate is elected.

Options:
  -c, --config FILE    the group's YAML file (or set TENURE_CONFIG)
  -h, --help           print this help and exit

Exit codes:
  0    the pause has ended
  2    wrong arguments or configuration
  81   the pause was changed or ended by somebody else at the same moment
  83   the store cannot be reached
  84   the group is not paused
  86   it is not known whether a write arrived: see tenure status

Example:
  tenure resume --config group.yaml
)";

const char* const jobs = R"(tenure jobs - show which periods of a job were run, and by whom

Usage: tenure jobs FILE [--json]
       tenure jobs forget PERIOD --config FILE [--job NAME] [--yes]

Lists the runs that the leader's record keeps: the last ones of each job, and
the one that goes on; and which periods were begun. Reads the store and changes
nothing. A period is named by the instant at which it begins, in UTC. For jobs
of the group's file the next period is shown as well, by this machine's clock.

Options:
  -c, --config FILE    the group's YAML file (or set TENURE_CONFIG)
  --json               one JSON object on a line for each job, with stable keys
  -h, --help           print this help and exit

A run is running, succeeded, failed, stopped (it was told to stop because its
copy gave up leadership) or lost (nobody noted how it ended).

Exit codes:
  0    listed, also if nobody leads    2    wrong arguments or configuration
  83   the store cannot be reached, or its record is not understood

Examples:
  tenure jobs --config group.yaml
  tenure jobs --config group.yaml --json | jq -r '.runs[0].state'
)";

const char* const jobsForget = R"(tenure jobs forget - forget that a period was begun, so that it runs again

Usage: tenure jobs forget PERIOD|all --config FILE [--job NAME] [--yes]
                          [--wait DURATION]

Asks for a confirmation. Then it asks whoever leads to step down, takes the
lease for a moment, and changes the leader's record. So all work of the leader
ends.

The job runs again if PERIOD is its present one. An earlier period is run again
only with missed: all, if none after it was begun. If the group's file does not
have the job, only a period that tenure jobs lists can be forgotten.

Options:
  PERIOD               the instant at which it begins: 2026-11-21T03:00:00Z
  all                  the job with all its periods, as if it had never run
  -c, --config FILE    the group's YAML file (or set TENURE_CONFIG)
  --job NAME           which job; needed if the record has runs of several
  --yes                do not ask; needed where there is no terminal
  --wait DURATION      how long to wait for the lease (default 1m)
  -h, --help           print this help and exit

Exit codes:
  0    forgotten
  1    PERIOD is no period of the job, or was not begun; or no such job is
       there; or the leader is of another client, which cannot be asked
  2    wrong arguments or configuration, or not confirmed
  81   the lease was lost before the change was written
  82   a run of this period goes on, or the group is paused
  83   the store cannot be reached, or its record is not understood
  85   the lease was not to be had in time
  86   the store did not answer; it is not known whether the period is forgotten

Example:
  tenure jobs forget 2026-11-21T03:00:00Z --config group.yaml --job nightly
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

const char* const fence = R"(tenure fence - keep former leaders from a resource

Usage: tenure fence COMMAND [OPTIONS]

Commands:
  install-sql  print SQL by which a database guards a table of yours
  proxy        refuse requests of former terms in front of an HTTP service
  recover      correct tokens after one was made up

Options:
  -h, --help    print this help and exit; tenure fence COMMAND --help tells more

Exit codes: 0 done, 1 failed, 2 wrong arguments.
)";

const char* const fenceInstallSql = R"(tenure fence install-sql - print SQL by which a database guards a table of yours

Usage: tenure fence install-sql --dialect postgresql --table TABLE --lease NAME
                                [--schema SCHEMA]
       tenure fence install-sql --dialect sqlite --table TABLE --lease NAME
                                [--token-column COLUMN]

Prints a script for a DBA or a migration: a table that remembers the highest
fencing token, and triggers by which the database itself refuses writes without
a token and writes of former terms, whoever sends them. It may be run again.

With postgresql a writer tells its term in each transaction that writes:
  SET LOCAL tenure.token = '...';    the value of $TENURE_FENCING_TOKEN
With sqlite each row carries the token of its writer in COLUMN; without one only
programs that write through the library (SqliteFence) get in.

Options:
  --dialect DIALECT        postgresql (14 or later) or sqlite
  --table TABLE            one name, as it is; it will be quoted
  --lease NAME             the lease's name, as in the group's file
  --schema SCHEMA          postgresql: where the table is (public)
  --token-column COLUMN    sqlite: an integer column of the table
  -h, --help               print this help and exit

Exit codes: 0 printed, 1 failed, 2 wrong arguments.

Example:
  tenure fence install-sql --dialect postgresql --table pay --lease billing \
      | psql --set ON_ERROR_STOP=1 "$DATABASE_URL"
)";

const char* const fenceProxy = R"(tenure fence proxy - refuse requests of former terms before a service sees them

Usage: tenure fence proxy --listen ADDRESS:PORT --upstream http://HOST:PORT
           --lease NAME --memory FILE [OPTIONS]

Forwards requests to the service at --upstream. A request carries the token of
its term in a header:  Fencing-Token: NAME=42;holder="..."  The highest token is
kept in FILE; a request with a lower one is refused with 409. A request of a
later term waits until those of the term before have ended.

Options:
  --listen ADDRESS:PORT     where clients connect; port 0: any free one
  --upstream URL            the service, http://HOST:PORT
  --lease NAME              whose tokens count; may be given several times
  --memory FILE             SQLite file for the highest tokens
  --keys FILE               take signed tokens only; lines of ID SECRET (base64,
                            32 bytes or more). To change a key, list both.
  --audience NAME           with --keys: this service's name, which its clients
                            sign; a request signed for another is refused
  --without-token WHAT      requests without the header: refuse-writes (default;
                            GET, HEAD and OPTIONS without a body pass), refuse,
                            or pass
  --stale-status STATUS     409 (default) or 412
  --max-connections N       the most clients (default 1000); at most half may be
                            of one address. If there is no room, the client
                            that is silent longest is cut off; if none is
                            silent, the new one gets 503.
  --signed-body-limit N     with --keys: most bytes of a body (default 1048576)
  --client-timeout TIME     for a header, and between pieces of a body
                            (default 10s)
  --service-timeout TIME    for the service to say something (default 30s)
  --drain-timeout TIME      for requests under way when a later term waits, when
                            the proxy stops, and after it was killed (default
                            30s)
  --log-format FORMAT       text (default), logfmt or json
  --http ADDRESS            show /metrics there: 127.0.0.1:9200 or unix:/PATH
  -h, --help                print this help and exit

Signals: SIGTERM, SIGINT and SIGHUP let the requests under way end; a second one
cuts them off.

Exit codes: 0 stopped by a signal; 1 failed, or requests were cut off when it
stopped; 2 wrong arguments.

Example:
  tenure fence proxy --listen 0.0.0.0:8080 --upstream http://127.0.0.1:9000 \
      --lease billing --memory /var/lib/tenure/billing-fence.db
)";

}  // namespace tenure::cli::help
