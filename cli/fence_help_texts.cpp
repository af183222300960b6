#include "help_texts.hpp"

namespace tenure::cli::help {

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

const char* const fenceRecover = R"(tenure fence recover - correct fencing tokens after one was made up

Usage: tenure fence recover --config FILE --token N [--lease NAME]
           [--resource KIND:WHERE]... [--yes]

Sets to N: the lease's counter, the copy of it in the lease's record, and the
token that each named resource remembers. The next leader gets N + 1, or in etcd
and Kubernetes a token above the store's revision, if that is higher. N is the
highest token that a leader really had, or any above it: see the logs, or what
other resources remember.

End every candidate first. The command watches the lease for as long as a lease
lasts, and does nothing if anybody holds it or competes for it, or (SQLite) if a
process keeps its liveness file locked. It shows the stored values and the new
ones, says which guarantee is waived, and asks you to type the lease's name.

Options:
  -c, --config FILE      the group's YAML file (or set TENURE_CONFIG)
  --token N              1 to 9007199254740990
  --lease NAME           a lease of that store other than the group's: that of
                         a shard, or a lock
  --resource KIND:WHERE  may be given several times
       sqlite:FILE         the table tenure_fence_guard in a database
       file:PATH           PATH.fence, of FencedFile
       proxy:FILE          the memory of tenure fence proxy, which is stopped
       postgresql:SCHEMA   prints statements for psql
       redis:PREFIX        prints a command for redis-cli; the prefix is
                           tenure:fence: unless the program has set another
  --yes                  do not ask
  -h, --help             print this help and exit

Exit codes:
  0    done
  1    a resource could not be set; the counter is
  2    wrong arguments or configuration, or not confirmed
  82   a candidate is alive; nothing was done
  83   the store cannot be reached, or refused

Example:
  tenure fence recover --config group.yaml --token 17 \
      --resource proxy:/var/lib/tenure/billing-fence.db
)";

}  // namespace tenure::cli::help
