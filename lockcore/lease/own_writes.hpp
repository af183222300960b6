// The writes that a candidate sent: those that were not answered, and the versions of all of them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "packed_version.hpp"

namespace tenure {

/// What a write gives the holder once it is known to be in the record. Each write has its own right: the lease duration
/// may change from one write to the next.
struct WrittenRight {
  std::chrono::nanoseconds leadsFor{0};
  std::chrono::nanoseconds validFor{0};
  std::uint64_t ticket{0};             ///< the last Renew whose changes the write carries
  std::chrono::milliseconds lease{0};  ///< the lease that the write states
  std::uint64_t data{0};               ///< the number of the data that the write carries; 0: none
  bool leavesOut{false};               ///< data that the store has refused are left out
};

/// A write without an answer: the record may have this version, from a request sent at `sentAt` (I8). A conflict that
/// does not show the record is no answer either: if the network delivered a write twice, or a layer below the store
/// sent it again, the second copy conflicts with the first.
struct UnansweredWrite {
  RecordVersion version;
  Instant sentAt;
  WrittenRight right{};
  bool lookedFor{false};  ///< a read sent later has shown that it had not arrived yet
  bool creates{false};    ///< an acquisition conditioned on the absence of the record, which may become true again
  bool forNobody{false};  ///< it has arrived, with a token too low to lead by
  bool inherits{false};   ///< an acquisition that follows a state which may lack terms
};

/// The unanswered writes of one acquisition or of one term, oldest first.
class UnansweredWrites {
 public:
  void add(UnansweredWrite write) { writes_.push_back(std::move(write)); }
  /// Like add(), but drops the oldest one if there are already `most`.
  void addWithin(std::size_t most, UnansweredWrite write);
  void clear() noexcept { writes_.clear(); }
  /// See UnansweredWrite::forNobody.
  void disown(const RecordVersion& version) noexcept;
  /// A read of the record has shown none of them.
  void lookedForAll() noexcept;

  [[nodiscard]] bool empty() const noexcept { return writes_.empty(); }
  /// Those that may still arrive after this one has arrived. Those before it cannot: their conditions do not name its
  /// version.
  [[nodiscard]] UnansweredWrites after(const UnansweredWrite& arrived) const;
  [[nodiscard]] const UnansweredWrite* find(const RecordVersion& version) const noexcept;
  [[nodiscard]] std::vector<UnansweredWrite>::const_iterator begin() const noexcept { return writes_.begin(); }
  [[nodiscard]] std::vector<UnansweredWrite>::const_iterator end() const noexcept { return writes_.end(); }

  /// The versions that a request's condition names beside `acknowledged`: the newest few. The holder reads the record
  /// before it drops one from the list; if that one arrives all the same, the conflict shows it.
  [[nodiscard]] std::vector<RecordVersion> named(const RecordVersion& acknowledged) const;
  [[nodiscard]] bool namesAll() const noexcept { return writes_.size() < mostNamed; }
  [[nodiscard]] bool mustLook() const noexcept;

 private:
  static constexpr std::size_t mostNamed = 8;

  std::vector<UnansweredWrite> writes_{};
};

/// The last versions that a candidate sent in writes, whether they arrived or not; the oldest is overwritten. They are
/// packed because a process may have thousands of leases.
class SentVersions {
 public:
  void add(const RecordVersion& version);
  /// The last one was never in the record. Many such writes in a row (refused connections) must not push out the
  /// version that is in the record.
  void takeBack() noexcept;
  void forget() noexcept { versions_.fill({}); }

  [[nodiscard]] bool has(const RecordVersion& version) const;

  /// For the next machine of the key; oldest first.
  [[nodiscard]] std::vector<PackedVersion> all() const;
  void recall(const std::vector<PackedVersion>& versions);

 private:
  std::array<PackedVersion, 16> versions_{};  // all zero: none
  std::size_t next_{0};
};

}  // namespace tenure
