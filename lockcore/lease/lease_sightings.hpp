// What a candidate knows of leases that it watches without competing for them: many at the cost of one listing.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/fencing_token.hpp>
#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure {

/// One lease as it was seen, to be handed to a machine that begins to compete for it (event::Start), so that the wait
/// which has passed already counts (I3).
struct LeaseSighting {
  std::optional<LeaseRecord> record{};  ///< empty: there was none
  Instant since{};                      ///< after receiving the first answer that showed this state
  /// There was a record and it vanished: what is to be waited for from `since` on.
  std::chrono::milliseconds vanishedLease{0};
  /// The highest fencing token that was ever seen of this lease (I7).
  FencingToken tokenFloor{};

  friend bool operator==(const LeaseSighting&, const LeaseSighting&) = default;
};

/// Applies the machine's own rules of observation to answers that come by other ways than its own reads. It does not
/// matter how fresh an answer is: a stale one can only make a later conditional write fail.
///
/// Not thread-safe: one owner calls it serially, with `now` never going back on any of its clocks.
class LeaseSightings {
 public:
  LeaseSightings();
  ~LeaseSightings();
  LeaseSightings(LeaseSightings&&) noexcept;
  LeaseSightings& operator=(LeaseSightings&&) noexcept;

  /// An answer that was received at `now` shows this record, or that there is none.
  void saw(const Instant& now, const LeaseKey& key, const std::optional<LeaseRecord>& record);

  /// The record could not be understood: nothing may be taken until it was seen anew (I11).
  void distrust(const LeaseKey& key);

  /// Time until the lease may be taken; <= 0: now. Empty: not known.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilFree(const LeaseKey& key, const Instant& now) const;

  /// Empty: not known.
  [[nodiscard]] std::optional<LeaseSighting> find(const LeaseKey& key) const;

  /// No more interest in it. What was seen of its token is forgotten too.
  void forget(const LeaseKey& key);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
