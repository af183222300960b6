#include "help_texts.hpp"

namespace tenure::cli::help {

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

}  // namespace tenure::cli::help
