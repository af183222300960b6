// What LeaseMachine asks its driver to do.
#pragma once

#include <chrono>
#include <iosfwd>
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
  unknown,     ///< the store did not answer in time; the lease expires by itself if the release did not arrive
};

[[nodiscard]] std::string_view toString(ReleaseResult result) noexcept;
std::ostream& operator<<(std::ostream& out, ReleaseResult result);

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
};
/// The store acknowledged a renewal. `afterDoubt`: an InDoubt came before it.
struct Renewed {
  FencingToken token;
  bool afterDoubt;
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
                                 action::Stopped, action::Log>;
using LeaseActions = std::vector<LeaseAction>;

}  // namespace tenure
