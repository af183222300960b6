#include "help_texts.hpp"

namespace tenure::cli::help {

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
