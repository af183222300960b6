// The fence's contract on a table of PostgreSQL, under the isolation levels that a writer may have.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <tenure/adapters/postgresql_fence.hpp>
#include <tenure/adapters/postgresql_fence_sql.hpp>

#include "adapters/contract/fence_contract.hpp"
#include "adapters/postgresql_database.hpp"
#include "adapters/postgresql_lease_table.hpp"

namespace tenure::contract {
namespace {

using namespace std::chrono_literals;
using Work = PostgresqlResult (*)(PGconn*);
static_assert(FencedWriter<PostgresqlFence, Work> && ReadableFence<PostgresqlFence>);

class PostgresqlHandle final : public FenceHandle {
 public:
  PostgresqlHandle(const std::string& schema, PostgresqlIsolation isolation,
                   std::optional<PostgresqlLeaseTable> leaseTable = {})
      : connection_{schema} {
    fence_.emplace(
        PostgresqlFence::open(connection_.raw(),
                              {.isolation = isolation, .lockTimeout = 200ms, .leaseTable = std::move(leaseTable)})
            .value());
  }

  FenceResult<void> write(const TermStamp& stamp, const std::string& entry,
                          const std::function<void()>& inside) override {
    return fence_->write(stamp, [&](PGconn*) {
      if (inside) inside();
      return insert(stamp, entry);
    });
  }
  FenceResult<void> writeUnder(const FencedTerm& term, const std::string& entry) override {
    return fence_->write(term, [&](PGconn*) { return insert(term.stamp(), entry); });
  }
  bool writeBare(const TermStamp& stamp, const std::string& entry) override {
    return PQresultStatus(insert(stamp, entry).get()) == PGRES_COMMAND_OK;
  }
  FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease) override {
    return fence_->highestSeen(lease);
  }

 private:
  PostgresqlResult insert(const TermStamp& stamp, const std::string& entry) {
    const std::string token = toString(stamp.token);
    const char* values[] = {token.c_str(), stamp.holder.c_str(), entry.c_str()};
    return PostgresqlResult{PQexecParams(connection_.raw(),
                                         "INSERT INTO ledger(token, holder, entry) VALUES($1, $2, $3)", 3, nullptr,
                                         values, nullptr, nullptr, 0)};
  }

  const test::PostgresqlConnection connection_;
  std::optional<PostgresqlFence> fence_;
};

/// Takes the lease over before it writes under a new term, as an elected candidate has: so the lease's row is checked
/// in every race and freeze of the suites.
class PostgresqlLeaseHandle final : public FenceHandle {
 public:
  PostgresqlLeaseHandle(const std::string& schema, PostgresqlIsolation isolation)
      : leases_{schema}, writer_{schema, isolation, PostgresqlLeaseTable{.schema = schema}} {}

  FenceResult<void> write(const TermStamp& stamp, const std::string& entry,
                          const std::function<void()>& inside) override {
    if (auto error = takeOver(stamp)) return *std::move(error);
    return writer_.write(stamp, entry, inside);
  }
  FenceResult<void> writeUnder(const FencedTerm& term, const std::string& entry) override {
    if (auto error = takeOver(term.stamp())) return *std::move(error);
    return writer_.writeUnder(term, entry);
  }
  bool writeBare(const TermStamp& stamp, const std::string& entry) override { return writer_.writeBare(stamp, entry); }
  FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease) override {
    return writer_.highestSeen(lease);
  }

 private:
  /// A term that is not above the row's finds the row as it is, and is judged by the fence.
  [[nodiscard]] std::optional<FenceError> takeOver(const TermStamp& stamp) const {
    if (errorOf(stamp)) return std::nullopt;
    const std::string state = leases_.tryTakeOver(stamp);
    if (state.empty()) return std::nullopt;
    return fenceError({ErrorClass::transient, "the takeover failed with SQLSTATE " + state});
  }

  const test::PostgresqlLeases leases_;
  PostgresqlHandle writer_;
};

class PostgresqlResource final : public FencedResource {
 public:
  PostgresqlResource() {
    // The writing transactions draw the numbers, so if terms overlapped, the order would show it.
    reader_.exec(
        "CREATE TABLE ledger(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, token bigint NOT NULL,"
        " holder text NOT NULL, entry text NOT NULL)");
    reader_.exec(test::PostgresqlLeases::tableSql());
  }

  std::string address() const override { return schema_.name(); }
  std::vector<FencedEntry> entries() override {
    std::vector<FencedEntry> found;
    for (const auto& row : reader_.rows("SELECT token, holder, entry FROM ledger ORDER BY id")) {
      found.push_back({FencingToken{std::stoull(row[0])}, row[1], row[2]});
    }
    return found;
  }
  bool plant(const TermStamp& memory) override {
    // A table that an older release created has no such constraint.
    if (memory.token > maxFencingToken) {
      reader_.exec("ALTER TABLE tenure_fence_guard DROP CONSTRAINT IF EXISTS tenure_fence_guard_token_check");
    }
    reader_.exec(postgresqlSetFenceSql(schema_.name(), memory));
    reader_.exec("UPDATE tenure_lease SET token = " + toString(memory.token) + ", counter = " + toString(memory.token));
    return true;
  }

 private:
  const test::PostgresqlSchema schema_;
  const test::PostgresqlConnection reader_{schema_.name()};
};

template <class Handle = PostgresqlHandle>
FenceUnderTest postgresql(std::string name, PostgresqlIsolation isolation) {
  return {.name = std::move(name),
          .make = [] { return std::make_unique<PostgresqlResource>(); },
          .open = [isolation](const std::string& address) { return std::make_unique<Handle>(address, isolation); },
          .pausesInside = true};
}

const FenceUnderTest readCommitted =
    registerFence(postgresql("PostgresqlReadCommitted", PostgresqlIsolation::readCommitted));
const FenceUnderTest serializable =
    registerFence(postgresql("PostgresqlSerializable", PostgresqlIsolation::serializable));
const FenceUnderTest withLease = registerFence(
    postgresql<PostgresqlLeaseHandle>("PostgresqlLeaseReadCommitted", PostgresqlIsolation::readCommitted));
const FenceUnderTest withLeaseSerializable =
    registerFence(postgresql<PostgresqlLeaseHandle>("PostgresqlLeaseSerializable", PostgresqlIsolation::serializable));

const auto all = testing::Values(readCommitted, serializable, withLease, withLeaseSerializable);
INSTANTIATE_TEST_SUITE_P(Postgresql, FenceContract, all, fenceName);
INSTANTIATE_TEST_SUITE_P(Postgresql, FenceRaceContract, all, fenceName);
INSTANTIATE_TEST_SUITE_P(Postgresql, FenceFreezeContract, all, fenceName);

}  // namespace
}  // namespace tenure::contract
