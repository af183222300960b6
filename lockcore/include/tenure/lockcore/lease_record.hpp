// A lease: its name, the numbers of its terms, and what a store keeps for it.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// The longest lease name and sort key in bytes (DynamoDB's limits for partition and sort keys).
inline constexpr std::size_t maxLeaseNameBytes = 2048;
inline constexpr std::size_t maxSortKeyBytes = 1024;

/// A lease is named by `name`, and also by `sortKey` where a store's table has one. ("ab","c") and ("a","bc") differ.
struct LeaseKey {
  std::string name;
  std::string sortKey{};

  friend auto operator<=>(const LeaseKey&, const LeaseKey&) = default;
};

/// The faults of a key, one sentence each; empty if it may be used. A name is 1..2048 bytes of UTF-8 without
/// NUL, not blank, and does not end in "#fence" (the counter record's name). Names that look alike would be two
/// leases, so neither name nor sort key may hold a control, an invisible or a directional character, a space other than
/// U+0020, a typographic quote or hyphen, begin or end with a space, or be in another form than Unicode's NFC.
[[nodiscard]] TENURE_API std::vector<std::string> faultsOf(const LeaseKey& key);

/// For logs and messages: control characters and quotes escaped, the sort key after a slash if there is one.
[[nodiscard]] TENURE_API std::string toString(const LeaseKey& key);

/// True for well-formed UTF-8 without overlong forms and surrogates.
[[nodiscard]] TENURE_API bool isUtf8(std::string_view text) noexcept;

/// The number of a term. A resource that remembers the highest token it has seen can refuse a paused former leader.
///
/// Rises strictly with every acquisition of a lease by this library, for the life of the table (invariant I7). Zero
/// means "none": it is never handed out. A token above maxFencingToken is malformed wherever it is met.
class TENURE_API FencingToken {
 public:
  constexpr FencingToken() noexcept = default;
  constexpr explicit FencingToken(std::uint64_t value) noexcept : value_{value} {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }
  [[nodiscard]] constexpr bool isNone() const noexcept { return value_ == 0; }
  [[nodiscard]] constexpr FencingToken next() const noexcept { return FencingToken{value_ + 1}; }

  friend constexpr auto operator<=>(FencingToken, FencingToken) noexcept = default;

 private:
  std::uint64_t value_{0};
};

/// The greatest token. Every JSON reader and every double holds it exactly. At a thousand terms a second a lease needs
/// 285,000 years to get there.
inline constexpr FencingToken maxFencingToken{(std::uint64_t{1} << 53U) - 1};

/// How far a resource's report may lift the counter above the highest token that was known. Any client that may write
/// to the resource can forge a report. With this bound, no number of reports that is practicable brings the counter
/// near its end.
inline constexpr std::uint64_t maxReportedStep = std::uint64_t{1} << 32U;

[[nodiscard]] TENURE_API std::string toString(FencingToken token);
/// For a line about a holder: `with fencing token 7`, or `without a fencing token` for a lease that another client
/// holds that way.
[[nodiscard]] TENURE_API std::string withToken(FencingToken token);
TENURE_API std::ostream& operator<<(std::ostream& out, FencingToken token);

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
struct LivenessFile {
  std::string id;      ///< 32 hex digits, also the first line of the file
  std::string bootId;  ///< /proc/sys/kernel/random/boot_id
  std::uint64_t device{0};
  std::uint64_t inode{0};

  friend bool operator==(const LivenessFile&, const LivenessFile&) = default;
};

/// The candidate to which a leader leaves the lease. It only delays others: no token, wait or right depends on it.
struct Successor {
  std::string name{};                      ///< of the candidate, as nameOf() gives it; empty: none is named
  std::chrono::milliseconds heartbeat{0};  ///< for how long others leave the released lease alone, at most its lease

  friend bool operator==(const Successor&, const Successor&) = default;
};

/// The longest lease that a record may state. A longer one is refused as corrupt, never silently waited for.
inline constexpr std::chrono::milliseconds maxRecordLease = std::chrono::hours{24 * 7};

/// The complete ownership state of a lease. Every ownership write sets all of it. (Pitfall: a takeover left a stale
/// "released" mark behind, which made a live lock look free.)
struct LeaseRecord {
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
  /// In a held record, the candidate to which the holder was asked to leave the lease; in a released one, the
  /// candidate for which it was released. An acquisition clears it.
  Successor successor{};
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

template <>
struct std::hash<tenure::LeaseKey> {
  std::size_t operator()(const tenure::LeaseKey& key) const noexcept {
    const std::size_t first = std::hash<std::string>{}(key.name);
    return first ^ (std::hash<std::string>{}(key.sortKey) + 0x9e3779b97f4a7c15ULL + (first << 6) + (first >> 2));
  }
};
