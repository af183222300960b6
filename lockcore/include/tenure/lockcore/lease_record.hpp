// The record that a store keeps for one lease.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fencing_token.hpp>

namespace tenure {

/// The record version number (RVN). Each write of the holder sets a new one, which shows challengers that the holder
/// lives. Ours are UUID v4 texts. Those of other writers may be anything, so it is kept as text and compared exactly.
///
/// A replicated database may lose its last commits when a standby is promoted. Such a store also says by which history
/// it knows the version: the text changes with every promotion. The version itself, and so equality, is the text alone,
/// because a holder recognises what it wrote in any history. A challenger starts its wait again when the history
/// changes, since the holder may have written newer versions that were lost.
class TENURE_API RecordVersion {
 public:
  RecordVersion() = default;
  explicit RecordVersion(std::string text, std::string history = {})
      : text_{std::move(text)}, history_{std::move(history)} {}

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] bool isNone() const noexcept { return text_.empty(); }
  /// Empty: the store has one history, or this version was written and not read.
  [[nodiscard]] const std::string& history() const noexcept { return history_; }

  friend bool operator==(const RecordVersion& a, const RecordVersion& b) noexcept { return a.text_ == b.text_; }
  friend auto operator<=>(const RecordVersion& a, const RecordVersion& b) noexcept { return a.text_ <=> b.text_; }

 private:
  std::string text_;
  std::string history_{};
};

/// The place of the holder's liveness file. The holder keeps this file locked, so the kernel shows when the holder
/// is gone (death notice). Meaningful only on the machine and boot that it names.
struct TENURE_API LivenessFile {
  std::string id;      ///< 32 hex digits, also the first line of the file
  std::string bootId;  ///< /proc/sys/kernel/random/boot_id
  std::uint64_t device{0};
  std::uint64_t inode{0};

  friend bool operator==(const LivenessFile&, const LivenessFile&) = default;
};

/// The longest lease that a record may state. A longer one is refused as corrupt, never silently waited for.
inline constexpr std::chrono::milliseconds maxRecordLease = std::chrono::hours{24 * 7};

/// The complete ownership state of a lease. Every ownership write sets all of it. (Pitfall: a takeover left a stale
/// "released" mark behind, which made a live lock look free.)
struct TENURE_API LeaseRecord {
  std::string holder;                          ///< candidate id with its incarnation; compared exactly
  RecordVersion version;                       ///< RVN
  std::chrono::milliseconds leaseDuration{0};  ///< 1 ms .. maxRecordLease; what challengers wait for
  FencingToken token;                          ///< the holder's term; a copy of the fencing counter for people
  bool released{false};                        ///< true: the holder gave it up; it may be taken at once
  bool vanished{false};                        ///< there is no record, see vanishedRecord()
  /// The store's history has changed since the holder acquired the lease (a late renewal proves nothing). A later term
  /// may be lost, and its holder may not know that yet. The record is therefore free only after it was seen for a whole
  /// lease, even if it is released, if the reader itself wrote it, or if its holder is dead.
  bool inherited{false};
  /// Of a record without a token, which another client wrote: that client marks what it releases, and does not delete
  /// it. If the record vanishes, it was deleted by hand, and its holder may live.
  bool keptAtRelease{false};
  std::optional<LivenessFile> livenessFile{};       ///< the place of the holder's liveness file, if it keeps one
  std::string data{};                               ///< the user's payload, opaque bytes
  std::map<std::string, std::string> attributes{};  ///< the user's further attributes; kept across takeovers

  /// Wall-clock milliseconds since 1970 as the writer saw them. For people only; nothing reads them to decide.
  std::int64_t acquiredAtMillis{0};
  std::int64_t renewedAtMillis{0};

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

/// The answer of a store that has no record, but whose fencing counter says that the last term has not ended cleanly:
/// the record of a holder that may still live was deleted. A candidate then waits for `lease`, counted from when
/// it first saw this answer, just as it would for the record itself. Its acquisition expects vanishedVersion(token,
/// lease).
[[nodiscard]] TENURE_API LeaseRecord vanishedRecord(FencingToken token, std::chrono::milliseconds lease);

/// `counter:<token>:<lease in ms>`. It changes with each term and with each longer lease. No holder writes such a
/// version.
[[nodiscard]] TENURE_API RecordVersion vanishedVersion(FencingToken token, std::chrono::milliseconds lease);

}  // namespace tenure
