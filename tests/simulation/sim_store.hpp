// The stores that the simulation runs against: one lease, atomic conditional writes, a counter beside it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure::test {

/// Ways in which the world itself is broken, to prove that the checks see it. (What a broken machine does to the checks
/// is proven by the mutants.)
enum class Sabotage {
  none,
  noCondition,       ///< writes are applied whatever the record is
  noRenewCondition,  ///< only renewals and releases are
  tokenRestarts,     ///< the counter is kept in the record only, and the request's floor is ignored
  openTermUntold,    ///< where there is no record, the counter tells of no term that may last
};

/// What the store really holds, and what others than the candidates do to it.
class SimTruth {
 public:
  virtual ~SimTruth() = default;

  [[nodiscard]] const std::optional<LeaseRecord>& record() const noexcept { return record_; }
  /// What a read tells: the record, or that there is none and what the counter states then.
  [[nodiscard]] const std::optional<LeaseRecord>& told() const noexcept { return told_; }
  /// That as `back` writes ago, for reads that are stale.
  [[nodiscard]] const std::optional<LeaseRecord>& earlier(std::size_t back) const;

  /// An operator or a time to live deletes the record; the counter stays. False if this store cannot lose a record.
  virtual bool erase() = 0;
  /// Somebody else's client writes a record of its own over whatever there is: no token, no counter.
  virtual bool put(const LeaseRecord& foreign) = 0;
  /// The counter is deleted, and what it states of the last term; the record keeps its copy of the token.
  virtual bool loseCounter() = 0;
  [[nodiscard]] virtual bool counterLost() const = 0;
  /// An operator asks the present holder to step down.
  virtual void requestStepDown() = 0;

 protected:
  void now(std::optional<LeaseRecord> record, std::optional<LeaseRecord> told);

 private:
  std::optional<LeaseRecord> record_{};
  std::optional<LeaseRecord> told_{};
  std::array<std::optional<LeaseRecord>, 4> history_{};
  std::size_t next_{0};
};

/// A store that answers in one step. (DynamoDB's is a conversation: sim_dynamodb.hpp.)
class SimStore : public SimTruth {
 public:
  [[nodiscard]] virtual WriteOutcome write(const WriteRequest& request) = 0;
};

[[nodiscard]] std::unique_ptr<SimStore> makeModelStore(Sabotage sabotage);
/// Over the table of the memory store as it is shipped. It loses a record by the store's own removal only.
[[nodiscard]] std::unique_ptr<SimStore> makeMemoryTableStore();

}  // namespace tenure::test
