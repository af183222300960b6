// What can be said about locks by watching their records. Pure: listings and their times are arguments.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_store.hpp>

namespace tenure::cli {

enum class LockState {
  held,      ///< by its record; not watched long enough to say whether its holder lives
  renewed,   ///< its holder was seen renewing it
  stale,     ///< held by its record, and not renewed while it was watched for its whole lease
  released,  ///< its last holder gave it up
  corrupt,   ///< the record is not understood
};

[[nodiscard]] std::string_view toString(LockState state) noexcept;

/// No wall clock is used: a record is stale when this watcher saw one version of it for its whole lease (invariant I3),
/// whatever times it contains.
class LockWatch {
 public:
  /// A listing that was requested at `sentAt` and received at `receivedAt`. Records that it does not show any more are
  /// forgotten.
  void see(const Instant& sentAt, const Instant& receivedAt, const std::vector<ListedLease>& listing);

  struct Row {
    LeaseKey key;
    StoreResult<LeaseRecord> record;
    LockState state;
    std::chrono::nanoseconds unrenewedFor;  ///< at least this long; zero after the first listing
    std::string warning{};                  ///< ListedLease::warning
  };
  /// As of the last listing, in its order.
  [[nodiscard]] std::vector<Row> rows() const;

  /// Whether it is released, or held and not renewed for its lease and `grace` more; empty grace: never if it is held.
  [[nodiscard]] static bool mayBeRemoved(const Row& row, std::optional<std::chrono::milliseconds> grace);

  /// Whether its data say which periods of jobs were run. Without the record the jobs would be run again.
  [[nodiscard]] static bool holdsLedger(const Row& row);

  /// How long held records must be watched until all of them are known to be alive or removable.
  [[nodiscard]] std::chrono::milliseconds longestWatch(std::chrono::milliseconds grace) const;

 private:
  struct Sighting {
    RecordVersion version;
    std::string holder;
    Instant since;        ///< after this version was first received
    Instant confirmed;    ///< before the request of the last listing that showed it
    bool renewed{false};  ///< it had another version before, written by the same holder
  };
  std::map<LeaseKey, Sighting> sightings_;
  std::vector<ListedLease> last_;
};

}  // namespace tenure::cli
