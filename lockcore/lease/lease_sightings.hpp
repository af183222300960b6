// What a candidate knows of leases that it watches without competing for them. One listing serves many leases.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure {

/// A term that was seen while it held the lease, and that the store does not know any more: a standby was promoted that
/// lacked it, or an older copy was put back. Constant.
struct LostTerm {
  std::string holder;
  FencingToken token;
  Instant from;                     ///< it may hold the lease for `lease`, counted from here
  std::chrono::milliseconds lease;  ///< as its record stated
  std::string history{};            ///< of the store, when it was seen; empty: it has none, or that is not known
};

/// The state of one lease as it was seen. A machine that begins to compete for the lease gets it (event::Start), so
/// that the wait that has already passed counts (I3).
struct LeaseSighting {
  std::optional<LeaseRecord> record{};  ///< empty: there was none
  Instant since{};                      ///< after receiving the first answer that showed this state
  /// A record existed and vanished: the lease duration that must be waited for, counted from `since`.
  std::chrono::milliseconds vanishedLease{0};
  /// The highest fencing token ever seen for this lease (I7).
  FencingToken tokenFloor{};
  std::shared_ptr<const LostTerm> lost{};  ///< null: none is known

  friend bool operator==(const LeaseSighting&, const LeaseSighting&) = default;
};

/// Applies the machine's own rules of observation to answers that do not come from the machine's own reads. It does not
/// matter how fresh an answer is: a stale one can only make a later conditional write fail.
///
/// Not thread-safe: one owner calls it serially, with `now` never going back on any of its clocks.
class TENURE_API LeaseSightings {
 public:
  LeaseSightings();
  ~LeaseSightings();
  LeaseSightings(LeaseSightings&&) noexcept;
  LeaseSightings& operator=(LeaseSightings&&) noexcept;

  /// An answer received at `now` shows this record, or shows that there is none.
  void saw(const Instant& now, const LeaseKey& key, const std::optional<LeaseRecord>& record);

  /// The record could not be understood: the lease may not be taken until the record was seen again (I11).
  void distrust(const LeaseKey& key);

  /// Time until the lease may be taken; <= 0: now. Empty: not known.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilFree(const LeaseKey& key, const Instant& now) const;

  /// Empty: not known.
  [[nodiscard]] std::optional<LeaseSighting> find(const LeaseKey& key) const;

  /// Forgets the lease, including the highest token seen.
  void forget(const LeaseKey& key);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
