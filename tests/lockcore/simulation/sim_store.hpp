// The model of a store that the simulation runs against: one lease, atomic conditional writes, a counter beside it.
#pragma once

#include <optional>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure::test {

/// Ways in which the world itself is broken, to prove that the checks see it. (What a broken machine does to the checks
/// is proven by breaking its source.)
enum class Sabotage {
  none,
  noCondition,       ///< writes are applied whatever the record is
  noRenewCondition,  ///< only renewals and releases are
  tokenRestarts,     ///< the counter is kept in the record only, and the request's floor is ignored
};

class SimStore {
 public:
  explicit SimStore(Sabotage sabotage) : sabotage_{sabotage} {}

  [[nodiscard]] const std::optional<LeaseRecord>& record() const noexcept { return record_; }
  [[nodiscard]] WriteOutcome write(const WriteRequest& request);
  /// An operator or a TTL deletes the record; the counter stays.
  void erase() noexcept { record_.reset(); }
  /// An operator asks the present holder to step down.
  void requestStepDown() noexcept;

 private:
  [[nodiscard]] bool holds(const WriteRequest& request) const;
  [[nodiscard]] FencingToken nextToken(const WriteRequest& request) const;

  Sabotage sabotage_;
  std::optional<LeaseRecord> record_{};
  FencingToken counter_{};
  FencingToken stepDown_{};
};

}  // namespace tenure::test
