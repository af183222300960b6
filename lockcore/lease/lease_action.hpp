// What LeaseMachine asks its driver to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/outcomes.hpp>

#include "lease_event.hpp"

namespace tenure {

/// Why a candidacy of OneTerm ended without a term.
enum class GiveUpReason {
  held,         ///< somebody else holds the lease, and the patience has run out
  unavailable,  ///< the store could not be asked, and the patience has run out
  missing,      ///< there is no record, and it must exist
};

[[nodiscard]] std::string_view toString(GiveUpReason reason) noexcept;

/// The data that users put into a record.
struct LeasePayload {
  std::string data{};
  std::map<std::string, std::string> attributes{};

  friend bool operator==(const LeasePayload&, const LeasePayload&) = default;
};

/// What the acquisition of a term followed.
struct TermOrigin {
  std::string history{};  ///< of the store, as RecordVersion::history(); empty: it has one, or there was no record
  /// The store may lack terms that came after that state: it says so (LeaseRecord::inherited), or this candidate has
  /// seen a later one. What a lost term has left in the record is lost as well.
  bool inherited{false};
  FencingToken after{};  ///< of the term that this state shows as the last; none: none, or nothing was read since it
};

namespace action {

struct SendRead {
  Attempt attempt;
  std::chrono::nanoseconds timeout;
  bool mayBeLate;  ///< CallOptions::mayBeLate: another look follows
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
  std::shared_ptr<const LeasePayload> payload{};  ///< of the record as it is now; null: it has none
  TermOrigin origin{};
};
/// The store acknowledged a renewal. `afterDoubt`: an InDoubt came before it.
struct Renewed {
  FencingToken token;
  bool afterDoubt;
  std::uint64_t ticket{0};  ///< the last Renew whose changes are in the record now; 0: none
};
/// What became of the Renews with these tickets, if no Renewed says it.
struct Recorded {
  enum class Outcome {
    recorded,  ///< a write with their changes is in the record, by an acknowledgement or a read-back; also if only a
               ///< later change is there, because the last one wins
    refused,   ///< the store has refused their data for good: they are not in the record; all else is, and the term
               ///< goes on
    unknown,   ///< nobody knows, and nobody will find out
  };
  std::uint64_t first;
  std::uint64_t last;
  Outcome outcome;
  std::optional<StoreError> error{};  ///< refused: the store's
};
/// OneTerm only: the candidacy is over without a term. Stopped follows, in the same step unless `releasesFirst`.
struct GaveUp {
  GiveUpReason reason;
  std::optional<HolderInfo> holder{};  ///< if the record was seen to be held
  std::optional<StoreError> error{};   ///< for `unavailable`
  bool releasesFirst{false};           ///< an acquisition that was not answered may still arrive
};
/// A renewal failed or was not answered; the lease is still valid. Once per doubt.
struct InDoubt {
  StoreError error;
  std::chrono::nanoseconds remaining;  ///< until leadership ends if nothing improves
};
/// The term ended or is being given up: tell the work to stop. Exactly one for each Elected.
struct Revoked : TermEnd {
  /// The machine was not stepped for so long that the term ended in the meantime: the process did not run, or the
  /// thread that steps the machine was blocked.
  bool unstepped{false};
};
struct LeaderChanged {
  std::optional<LeaderInfo> leader;  ///< empty: nobody holds the lease
};
/// The lease may be free soon: its holder has not renewed it for half of it, or has released it. Once for each state of
/// the record. It says nothing about who acquires the lease.
struct VacancyExpected {
  std::chrono::nanoseconds remaining;  ///< until this candidate may acquire it, if it sees no renewal
};
/// From now on watch for the death of the process that holds this record, instead of any other (empty: watch nobody).
struct FollowHolder {
  std::optional<LeaseRecord> record;
};
struct Stopped {
  ReleaseResult result;
  std::shared_ptr<const LeaseMemory> memory{};  ///< with OneTerm only
};
struct Log {
  LogLevel level;
  std::string line;
};

}  // namespace action

/// The order is a contract: perform the actions first to last. Publish comes before the Elected or Revoked that it
/// belongs to. Revoked comes before any release is sent (invariant I9).
using LeaseAction =
    std::variant<action::SendRead, action::SendWrite, action::Publish, action::Elected, action::Renewed,
                 action::Recorded, action::InDoubt, action::Revoked, action::LeaderChanged, action::VacancyExpected,
                 action::FollowHolder, action::GaveUp, action::Stopped, action::Log>;
using LeaseActions = std::vector<LeaseAction>;

}  // namespace tenure
