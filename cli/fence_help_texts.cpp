#include "help_texts.hpp"

namespace tenure::cli::help {

const char* const fenceRecover = R"(tenure fence recover - set fencing tokens right after somebody made one up

Usage: tenure fence recover --config FILE --token N [--lease NAME]
           [--resource KIND:WHERE]... [--yes]

Sets the lease's counter, the copy in its record, and what the named resources
remember to N. The next leader gets N + 1. N is the highest token that a leader
really had, or any above it: see the logs, or what other resources remember.

End every candidate first. The command watches the lease for as long as a lease
lasts and does nothing if anybody holds it, competes for it, or (SQLite) has its
liveness file locked. It shows what is there and what will be, says which guarantee is
waived, and goes on when the lease's name is typed.

Options:
  -c, --config FILE      the group's YAML file (or set TENURE_CONFIG)
  --token N              1 to 9007199254740990
  --lease NAME           another lease of that store than the group's: of a
                         shard, a lock
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
  82   somebody lives; nothing was done
  83   the store cannot be reached, or refused

Example:
  tenure fence recover --config group.yaml --token 17 \
      --resource proxy:/var/lib/tenure/billing-fence.db
)";

}  // namespace tenure::cli::help
