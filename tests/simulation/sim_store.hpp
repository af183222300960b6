// The stores that the simulation uses: one lease, atomic conditional writes, and a counter beside it.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure::test {

/// Ways to break the world itself, which prove that the checks notice it. (The mutants prove that the checks notice a
/// broken machine.)
enum class Sabotage {
  none,
  noCondition,       ///< writes are applied whatever the record is
  noRenewCondition,  ///< only renewals and releases are applied whatever the record is
  tokenRestarts,     ///< the counter is kept in the record only, and the request's floor is ignored
  openTermUntold,    ///< if there is no record, the counter does not report a term that may still last
};

/// What the store really contains, and what is done to it by others than the candidates.
class SimTruth {
 public:
  virtual ~SimTruth() = default;

  [[nodiscard]] const std::optional<LeaseRecord>& record() const noexcept { return record_; }
  /// What a read shows: the record; or that there is none, and what the counter states then.
  [[nodiscard]] const std::optional<LeaseRecord>& told() const noexcept { return told_; }
  /// The same as `back` writes ago, for stale reads.
  [[nodiscard]] const std::optional<LeaseRecord>& earlier(std::size_t back) const;

  /// An operator or a time to live deletes the record; the counter stays. False if this store cannot lose a record.
  virtual bool erase() = 0;
  /// A foreign client writes its record over any other: without a token or a counter.
  virtual bool put(const LeaseRecord& foreign) = 0;
  /// The foreign client gives the lease back. Most delete the record.
  virtual void letGo() { static_cast<void>(erase()); }
  /// What a foreign client compares to see a holder's sign of life, and how long it waits after the last one; empty:
  /// nobody holds the lease.
  struct ShownToForeign {
    std::string version{};
    std::chrono::nanoseconds lease{0};
  };
  [[nodiscard]] virtual ShownToForeign shownToForeign() const {
    if (!record_ || record_->released) return {};
    return {record_->version.text(), record_->leaseDuration};
  }
  /// The counter is deleted, with its statement about the last term; the record keeps its copy of the token.
  virtual bool loseCounter() = 0;
  [[nodiscard]] virtual bool counterLost() const = 0;
  /// An operator asks the present holder to step down.
  virtual void requestStepDown(const Successor& successor) = 0;
  /// Whether a transaction that checks the lease's record may write for the term of this token.
  [[nodiscard]] virtual bool admits(FencingToken /*token*/) const { return true; }
  /// What a promotion has left of the record.
  struct Promotion {
    std::size_t lost{0};                   ///< how many commits
    std::chrono::milliseconds longest{0};  ///< the longest lease that the lost commits and the one before them state
    std::chrono::milliseconds waited{0};   ///< how long challengers wait now; 0: not at all
    bool sameTerm{false};                  ///< nothing is lost but renewals of the term that the record shows
    bool synchronous{false};               ///< nothing is lost that was answered with certainty
  };
  /// A standby becomes the primary; it does not have the last `commits` (or fewer, if there are not so many). Empty:
  /// this store has no standby.
  virtual std::optional<Promotion> promote(std::size_t /*commits*/) { return std::nullopt; }

 protected:
  void now(std::optional<LeaseRecord> record, std::optional<LeaseRecord> told);

 private:
  std::optional<LeaseRecord> record_{};
  std::optional<LeaseRecord> told_{};
  std::array<std::optional<LeaseRecord>, 4> history_{};
  std::size_t next_{0};
};

/// A store that answers in one step. (The DynamoDB store needs several: sim_dynamodb.cpp.)
class SimStore : public SimTruth {
 public:
  [[nodiscard]] virtual WriteOutcome write(const WriteRequest& request) = 0;
  /// As it is now, for a primary that lives on beside the promoted one. Null: it has no standby.
  [[nodiscard]] virtual std::unique_ptr<SimStore> copy() const { return nullptr; }
};

/// With `histories` it can be promoted, and nobody but candidates writes to it.
[[nodiscard]] std::unique_ptr<SimStore> makeModelStore(Sabotage sabotage, bool histories, FencingToken counter);
/// Uses the table of the memory store as it is shipped. It loses a record only by the store's own removal.
[[nodiscard]] std::unique_ptr<SimStore> makeMemoryTableStore();

}  // namespace tenure::test
