// The writes that a candidate sent: those that nobody answered, and the versions of them all.
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

/// What a write gives the holder once it is known to be in the record. Each write has its own: the lease duration
/// may change from one to the next.
struct WrittenRight {
  std::chrono::nanoseconds leadsFor{0};
  std::chrono::nanoseconds validFor{0};
  std::uint64_t ticket{0};             ///< of the last Renew whose changes it carries
  std::chrono::milliseconds lease{0};  ///< that the write states
};

/// A write without an answer: the record may have this version, from a request sent at `sentAt` (I8). A conflict is
/// no answer either as long as it does not show the record: a write that the network delivered twice, or that
/// somebody below the store sent again, conflicts with its own first copy.
struct UnansweredWrite {
  RecordVersion version;
  Instant sentAt;
  WrittenRight right{};
  bool lookedFor{false};  ///< a look at the record, asked for later, has shown that it had not arrived yet
  bool creates{false};    ///< an acquisition that waits for no record to be there, which may come true again
  bool forNobody{false};  ///< it was answered, with a token that is too low to lead by
};

/// The unanswered writes of one acquisition or of one term, oldest first.
class UnansweredWrites {
 public:
  void add(UnansweredWrite write) { writes_.push_back(std::move(write)); }
  /// As add(), and beyond so many the oldest is dropped.
  void addWithin(std::size_t most, UnansweredWrite write);
  void clear() noexcept { writes_.clear(); }
  /// A look at the record has shown none of them.
  void lookedForAll() noexcept;

  [[nodiscard]] bool empty() const noexcept { return writes_.empty(); }
  /// Those that may still arrive after this one of them has; those before it cannot, because their conditions do not
  /// name it.
  [[nodiscard]] UnansweredWrites after(const UnansweredWrite& arrived) const;
  [[nodiscard]] const UnansweredWrite* find(const RecordVersion& version) const noexcept;
  [[nodiscard]] std::vector<UnansweredWrite>::const_iterator begin() const noexcept { return writes_.begin(); }
  [[nodiscard]] std::vector<UnansweredWrite>::const_iterator end() const noexcept { return writes_.end(); }

  /// The versions that a request's condition names beside `acknowledged`: the newest so many. The holder reads the
  /// record before it lets one drop out of the list; should that one arrive all the same, the conflict shows it.
  [[nodiscard]] std::vector<RecordVersion> named(const RecordVersion& acknowledged) const;
  [[nodiscard]] bool namesAll() const noexcept { return writes_.size() < mostNamed; }
  [[nodiscard]] bool mustLook() const noexcept;

 private:
  static constexpr std::size_t mostNamed = 8;

  std::vector<UnansweredWrite> writes_{};
};

/// The last versions that a candidate sent in writes, whatever became of them; the oldest is overwritten. Packed, as a
/// process may have leases by the thousand.
class SentVersions {
 public:
  void add(const RecordVersion& version);
  /// The last one was never in the record. A stream of them (connections that are refused) must not push out the
  /// version that is.
  void takeBack() noexcept;
  void forget() noexcept { versions_.fill({}); }

  [[nodiscard]] bool has(const RecordVersion& version) const;

  /// For the next machine of the key, oldest first.
  [[nodiscard]] std::vector<PackedVersion> all() const;
  void recall(const std::vector<PackedVersion>& versions);

 private:
  std::array<PackedVersion, 16> versions_{};  // all zero: none
  std::size_t next_{0};
};

}  // namespace tenure
