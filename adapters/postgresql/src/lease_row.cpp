#include "lease_row.hpp"

#include <cstdint>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "adapters/fence/src/fence_text.hpp"
#include "lockcore/port/ascii_text.hpp"

namespace tenure::postgresql_fence {
namespace {

enum Column { token, holder, released, counter, columnsOfARow };

bool hasRows(const PGresult* answer) {
  return PQresultStatus(answer) == PGRES_TUPLES_OK && PQnfields(answer) >= columnsOfARow;
}

std::string textOf(const PGresult* row, Column column) { return PQgetvalue(row, 0, column); }

}  // namespace

bool LeaseRowCheck::proves(const PGresult* answer) const {
  return hasRows(answer) && PQntuples(answer) == 1 && textOf(answer, token) == toString(stamp_.token) &&
         textOf(answer, holder) == stamp_.holder && textOf(answer, released) == "f" && !announcesTakeover(answer);
}

/// Only a counter that is certainly not above the token announces none. One that was set back is put right by the next
/// acquisition.
bool LeaseRowCheck::announcesTakeover(const PGresult* row) const {
  const auto value = numberFrom<std::int64_t>(textOf(row, counter));
  return !value || *value > static_cast<std::int64_t>(stamp_.token.value());
}

FenceError LeaseRowCheck::errorOf(const PGresult* answer) const {
  if (!hasRows(answer)) return connection_.errorOf("reading the lease's row in " + table_, answer);
  if (PQntuples(answer) == 0) {
    return connection_.misuse(
        "lease \"" + toString(LeaseKey{stamp_.lease}) + "\" has no row in " + table_ +
        ", so nothing was written; name the schema, the table and the sort key that its candidates "
        "use (PostgresqlFenceOptions::leaseTable), and connect to the same database");
  }
  // A record that was removed has no token, and leaves the counter.
  const bool removed = PQgetisnull(answer, 0, token) == 1;
  const std::string stored = textOf(answer, removed ? counter : token);
  const auto shown = parseFencingToken(stored);
  if (!shown && stored != "0") return damagedFence(connection_.name() + ", " + table_, stamp_.lease, stored);
  if (shown && stamp_.token < *shown) return stale(*shown);
  if (!shown || *shown < stamp_.token) {
    return over(
        "the row has only reached token " + stored +
        ": this database has lost the term (a failover, a copy that was put back), or it is not the one in which "
        "the term was won");
  }
  return removed ? over("its record was removed") : ended(answer);
}

FenceError LeaseRowCheck::ended(const PGresult* row) const {
  const std::string shown = textOf(row, holder);
  if (shown != stamp_.holder) {
    return {ForeignTerm{stamp_.token, shown},
            refused() + ", because the lease's row in " + table_ + " shows " + personOf(shown) +
                " with the same token; find out whether an old copy of the database was put back"};
  }
  if (textOf(row, released) != "f") return over("it was released");
  if (announcesTakeover(row)) {
    const std::string stored = textOf(row, counter);
    if (stored == toString(stamp_.token.next())) {
      return over("another candidate has waited out the lease and has announced that it takes over (counter " + stored +
                  ")");
    }
    return over("its token is below the counter " + stored +
                ": one of them was changed by hand, or an older copy was put back. The next term corrects it");
  }
  return fenceError({ErrorClass::transient, refused() + ", because the lease's row in " + table_ +
                                                " was being changed; make the write again"});
}

FenceError LeaseRowCheck::stale(FencingToken later) const {
  return {StaleToken{stamp_.token, later}, refused() + ", because the lease's row in " + table_ +
                                               " has reached token " + toString(later) +
                                               "; the writer's term is over and its work must stop"};
}

FenceError LeaseRowCheck::over(const std::string& why) const {
  return {TermOver{stamp_.token}, refused() + ", because its term is over by the lease's row in " + table_ + ": " +
                                      why + "; its work must stop"};
}

std::string LeaseRowCheck::refused() const {
  return "lease \"" + toString(LeaseKey{stamp_.lease}) + "\": refused a write of " + personOf(stamp_.holder) +
         " with fencing token " + toString(stamp_.token);
}

}  // namespace tenure::postgresql_fence
