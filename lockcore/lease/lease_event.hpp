// What can happen to a lease: the inputs of LeaseMachine.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/lease_store.hpp>

#include "lease_sightings.hpp"

namespace tenure {

class LeaseMemory;

/// Numbers the requests of one machine; a reply to any other than the request in flight changes nothing.
using Attempt = std::uint64_t;

namespace event {

/// Compete from now on. `beacon`: this process's, to be written into its records. `sighting`: what this process has
/// seen of this lease by other ways before; the wait for a holder's lease to end counts from then. `predecessor`: what
/// another candidate of this process, whose turn was before, left with action::Stopped just now. If that was a release
/// the record is known, and needs no read before the acquiring write, whose condition proves it. OneTerm only.
struct Start {
  std::optional<Beacon> beacon{};
  std::optional<LeaseSighting> sighting{};
  std::chrono::nanoseconds waited{0};  ///< before it began to compete; counts for OneTerm::patience
  std::shared_ptr<const LeaseMemory> predecessor{};
};
/// Give leadership up politely and stay a candidate; not taken again for one lease, so that others get it.
struct StepDown {
  std::string why{};
};
/// Give leadership up politely (or stop competing), then end for good.
struct Stop {};
/// Stop, by a holder whose work has ended already: the release is sent at once, with what it is to leave behind.
struct Release {
  std::optional<std::string> data{};  ///< empty text: the record's data is cleared; unset: it stays
  bool removes{false};                ///< the record is removed instead of marked
};
/// Renew now, and change what is written from here on. Only a holder takes it in.
struct Renew {
  std::uint64_t ticket{0};  ///< told by Renewed once a write with all of this was acknowledged; rising
  std::optional<LeaseTiming> timing{};
  std::optional<std::string> data{};  ///< as in Release
};
/// The work of the last term has ended: its callbacks have returned.
struct WorkEnded {};
/// The work failed (a callback threw): leadership is given up, reason fatal.
struct WorkFailed {
  std::string what;
};
/// The work showed that it is alive.
struct WorkProgressed {};
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
/// The kernel proved that the process which keeps this beacon (Beacon::id) is gone, and with it whatever it held.
struct HolderProvenDead {
  std::string beaconId;
};
/// A resource refused a write because it has seen this token.
struct TokenSeen {
  FencingToken token;
};

}  // namespace event

using LeaseEvent =
    std::variant<event::Start, event::StepDown, event::Stop, event::Release, event::Renew, event::WorkEnded,
                 event::WorkFailed, event::WorkProgressed, event::Wakeup, event::ReadReply, event::WriteReply,
                 event::StoreHint, event::HolderProvenDead, event::TokenSeen>;

}  // namespace tenure
