// What can happen to a lease: the events that LeaseMachine takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/outcomes.hpp>

#include "lease_sightings.hpp"

namespace tenure {

class LeaseMemory;

/// Numbers the requests of one machine; a reply to any other than the request in flight changes nothing.
using Attempt = std::uint64_t;

namespace event {

/// Compete from now on. `livenessFile`: the liveness file of this process, to be written into its records. `sighting`:
/// what this process has already seen of this lease in other ways; the wait for a holder's lease to end counts from
/// then.
///
/// `predecessor`: what another candidate of this process, which was next in the line before, passed on with
/// action::Stopped just now. If it released the lease, the record is known. Then the acquiring write needs no read
/// before it, because its condition proves the record. OneTerm only.
struct Start {
  std::optional<LivenessFile> livenessFile{};
  std::optional<LeaseSighting> sighting{};
  std::chrono::nanoseconds waited{0};  ///< before it began to compete; it counts towards OneTerm::patience
  std::shared_ptr<const LeaseMemory> predecessor{};
  FencingToken newest{};  ///< of the terms of a machine that this one replaces (I7); none: there was none
};
/// Give leadership up and stay a candidate. The lease is not taken again for one lease duration, so that others get it.
struct StepDown {
  std::string why{};
  std::string successor{};  ///< the name of the candidate for whom the lease is then released; empty: for nobody
};
/// Whether this candidate may acquire the lease; it may until it is told otherwise. One that may not watches the record
/// as ever. An acquisition that is under way is not taken back; if it wins, the lease is released before any work
/// begins.
struct SetReady {
  bool ready{true};
  bool stepsDown{false};  ///< a holder that is not ready gives leadership up, as after StepDown
  std::string why{};      ///< for people
};
/// Give leadership up after the work has ended (or stop competing), then end for good.
struct Stop {};
/// Stop, sent by a holder whose work has already ended: the release is sent at once, with what it shall leave in the
/// record.
struct Release {
  std::optional<std::string> data{};  ///< empty text: the record's data is cleared; unset: it is kept
  bool removes{false};                ///< the record is removed instead of marked
};
/// Renew now, and change what is written from here on. Only a holder accepts it; while the work ends, it takes the data
/// and nothing else. Each is answered: by the Renewed that has its ticket or a later one, or by Recorded.
struct Renew {
  std::uint64_t ticket{0};  ///< rising; 0: no answer is wanted
  std::optional<LeaseTiming> timing{};
  std::optional<std::string> data{};  ///< as in Release
  FencingToken term{};                ///< only for the term with this token; none: for whichever it is
};
/// The work of the last term has ended: its callbacks have returned.
struct WorkEnded {};
/// The work failed (a callback threw), or did not begin: leadership is given up.
struct WorkFailed {
  std::string what;
  RevokeReason reason{RevokeReason::fatal};  ///< or notStarted
  /// False: none of it has begun, so nothing has to end before the release. What it waits for is missing until
  /// WorkEnded; no term begins before that.
  bool begun{true};
};
/// The work showed that it is alive.
struct WorkProgressed {
  std::chrono::nanoseconds ago{0};  ///< since then it may not have been
};
/// Time has passed; nothing else.
struct Wakeup {};
struct ReadReply {
  Attempt attempt;
  ReadOutcome outcome;
};
struct WriteReply {
  Attempt attempt;
  WriteOutcome outcome;
};
/// The store says that the record may have changed.
struct StoreHint {
  bool isLoss{false};  ///< it may be gone with all others (LeaseStore::watchLoss): a holder renews at once to find out
};
/// The kernel proved that the process that keeps this liveness file (LivenessFile::id) is gone, and with it everything
/// that the process held.
struct HolderProvenDead {
  std::string livenessFileId;
};
/// A resource refused a write because it has seen this token.
struct TokenSeen {
  FencingToken token;
};

}  // namespace event

using LeaseEvent =
    std::variant<event::Start, event::StepDown, event::SetReady, event::Stop, event::Release, event::Renew,
                 event::WorkEnded, event::WorkFailed, event::WorkProgressed, event::Wakeup, event::ReadReply,
                 event::WriteReply, event::StoreHint, event::HolderProvenDead, event::TokenSeen>;

}  // namespace tenure
