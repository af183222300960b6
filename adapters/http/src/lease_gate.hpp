// Who may pass on one lease, and when: the decision without threads, files or clocks.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <tenure/lockcore/fence.hpp>

namespace tenure::http_fence {

using Ticket = std::uint64_t;

/// A check in front of a service is not one step with the service's work. So the gate lets requests of one token only
/// be under way at a time: the first request of a later term waits until
/// (1) its token is durable, so that no restart forgets it, and
/// (2) every request of an earlier term has ended;
/// and from its arrival on requests of earlier terms are refused. Requests of one term pass side by side.
class LeaseGate {
 public:
  /// `stored`: what the memory holds; empty if nothing yet.
  LeaseGate(std::optional<TermStamp> stored, std::size_t maxWaiting)
      : highest_{stored}, durable_{std::move(stored)}, maxWaiting_{maxWaiting} {}

  struct Refused {
    Ticket ticket;
    FenceError error;
  };
  /// What is to be done after an event, in this order.
  struct Effects {
    std::optional<TermStamp> store{};  ///< make it durable, then call stored() or notStored()
    std::vector<Refused> refused{};
    std::vector<Ticket> passed{};  ///< each of them must end() one day
    std::set<Ticket> overtaken{};  ///< under way, and a later term waits for them
  };

  /// A request with a sound stamp; the holder may be empty. Tickets are never used again.
  [[nodiscard]] Effects arrive(Ticket ticket, const TermStamp& stamp);
  [[nodiscard]] Effects stored(const TermStamp& stamp);
  [[nodiscard]] Effects notStored(const TermStamp& stamp, const FenceError& why);
  [[nodiscard]] Effects end(Ticket ticket);
  /// Whoever waits goes away.
  [[nodiscard]] Effects leave(Ticket ticket);

  /// A request of the last term known that somebody else may still be at work on: a proxy that was killed.
  void suppose(Ticket ticket);

  /// Why this term is over, or another holder's; empty: it is not.
  [[nodiscard]] std::optional<FenceError> refusal(const TermStamp& stamp) const;
  [[nodiscard]] const std::optional<TermStamp>& highest() const noexcept { return highest_; }

 private:
  struct Waiter {
    Ticket ticket;
    TermStamp stamp;
  };

  [[nodiscard]] bool isDurable(const TermStamp& stamp) const;
  [[nodiscard]] bool open(const TermStamp& stamp) const;
  void raise(const TermStamp& stamp, Effects& effects);
  void let(Effects& effects);

  std::optional<TermStamp> highest_;  ///< seen by this process; never falls
  std::optional<TermStamp> durable_;
  std::size_t maxWaiting_;
  FencingToken underWayToken_{};
  std::set<Ticket> underWay_{};
  std::deque<Waiter> waiting_{};
};

}  // namespace tenure::http_fence
