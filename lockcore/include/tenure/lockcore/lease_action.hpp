// What LeaseMachine asks its driver to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tenure/lockcore/lease_event.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/term_cell.hpp>

namespace tenure {

/// Why a term ended.
enum class RevokeReason {
  stopped,           ///< stop() was called
  steppedDown,       ///< stepDown() was called, or an operator asked for it
  expired,           ///< not renewed in time: a pause, a starved machine, or work without progress
  lost,              ///< somebody else owns the record, or a resource has seen a higher token
  recordMissing,     ///< the record or its database is gone
  storeUnreachable,  ///< renewals failed until the deadline
  fatal,             ///< the work threw an exception
};

[[nodiscard]] std::string_view toString(RevokeReason reason) noexcept;
std::ostream& operator<<(std::ostream& out, RevokeReason reason);

/// Who leads, as this candidate last saw it.
struct LeaderInfo {
  std::string holder;  ///< the text in the record; nameOf() gives the part for people
  FencingToken token;
  bool self{false};  ///< this candidate

  friend bool operator==(const LeaderInfo&, const LeaderInfo&) = default;
};

/// What became of the record when the candidate stopped.
enum class ReleaseResult {
  notHeld,     ///< it did not lead, or had lost the lease before
  released,    ///< the record is marked as released
  notDrained,  ///< the work did not end in time; the lease is left to expire
  /// The store did not answer in time, or an acquisition that it never answered may still arrive; the lease expires by
  /// itself if the release did not arrive, or the acquisition did.
  unknown,
  shared,  ///< of a lock: another handle of the term holds on
};

[[nodiscard]] std::string_view toString(ReleaseResult result) noexcept;
std::ostream& operator<<(std::ostream& out, ReleaseResult result);

/// Why a candidacy of OneTerm ended without a term.
enum class GiveUpReason {
  held,         ///< somebody else holds the lease, and the patience is over
  unavailable,  ///< the store could not be asked, and the patience is over
  missing,      ///< there is no record, and it must exist
};

[[nodiscard]] std::string_view toString(GiveUpReason reason) noexcept;
std::ostream& operator<<(std::ostream& out, GiveUpReason reason);

/// A record that is held, as a candidate saw it.
struct HolderSeen {
  std::string holder;  ///< the text in the record; nameOf() gives the part for people
  FencingToken token;
  std::chrono::milliseconds lease{0};        ///< as the record states it
  std::chrono::nanoseconds unchangedFor{0};  ///< since this candidate first saw this version, by its own clock
  std::int64_t acquiredAtMillis{0};          ///< by the holder's wall clock, for people; 0: not known

  friend bool operator==(const HolderSeen&, const HolderSeen&) = default;
};

/// What users put into a record.
struct LeasePayload {
  std::string data{};
  std::map<std::string, std::string> attributes{};

  friend bool operator==(const LeasePayload&, const LeasePayload&) = default;
};

namespace action {

struct SendRead {
  Attempt attempt;
  std::chrono::nanoseconds timeout;
};
struct SendWrite {
  Attempt attempt;
  WriteRequest request;
  std::chrono::nanoseconds timeout;
};
/// Make this visible to isLeader() and fencingToken() now.
struct Publish {
  TermState term;
};
struct Elected {
  FencingToken token;
  std::shared_ptr<const LeasePayload> payload{};  ///< of the record as it is now; OneTerm only
};
/// The store acknowledged a renewal. `afterDoubt`: an InDoubt came before it.
struct Renewed {
  FencingToken token;
  bool afterDoubt;
  std::uint64_t ticket{0};  ///< the last Renew whose changes the record has now; 0: none
};
/// OneTerm only: the candidacy is over without a term. Stopped follows, in the same step unless `releasesFirst`.
struct GaveUp {
  GiveUpReason reason;
  std::optional<HolderSeen> holder{};  ///< if the record was seen to be held
  std::optional<StoreError> error{};   ///< for `unavailable`
  bool releasesFirst{false};           ///< an acquisition that nobody answered may still arrive
};
/// A renewal failed or was not answered; the lease is still valid. Once per doubt.
struct InDoubt {
  StoreError error;
  std::chrono::nanoseconds remaining;  ///< until leadership ends if nothing gets better
};
/// The term ended or is being given up: tell the work to stop. Exactly one for each Elected.
struct Revoked {
  RevokeReason reason;
  std::string detail;
  FencingToken token;
  /// The machine was not stepped for so long that the term ended meanwhile: the process did not run, or the thread that
  /// steps it was blocked.
  bool unstepped{false};
};
struct LeaderChanged {
  std::optional<LeaderInfo> leader;  ///< empty: nobody holds the lease
};
/// This record's holder is to be watched for a death notice from now on, instead of any other (empty: nobody).
struct FollowHolder {
  std::optional<LeaseRecord> record;
};
struct Stopped {
  ReleaseResult result;
  std::shared_ptr<const LeaseMemory> memory{};  ///< OneTerm only
};
struct Log {
  LogLevel level;
  std::string line;
};

}  // namespace action

/// The order is a contract: perform them first to last. Publish comes before the Elected or Revoked that it belongs
/// to, and Revoked comes before any release is sent (invariant I9).
using LeaseAction = std::variant<action::SendRead, action::SendWrite, action::Publish, action::Elected, action::Renewed,
                                 action::InDoubt, action::Revoked, action::LeaderChanged, action::FollowHolder,
                                 action::GaveUp, action::Stopped, action::Log>;
using LeaseActions = std::vector<LeaseAction>;

}  // namespace tenure
