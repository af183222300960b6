// Which requests may pass on one lease, and when: the decision without threads, files or clocks.
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

/// A check in front of a service is not one step with the service's work. So the gate lets only requests of one token
/// be under way at a time. The first request of a later term waits until
/// (1) its token is durable, so that no restart forgets it, and
/// (2) every request of an earlier term has ended.
/// From its arrival on, requests of earlier terms are refused. Requests of one term pass in parallel.
class LeaseGate {
 public:
  /// `stored`: what the memory holds; empty if it holds nothing yet.
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
    std::vector<Ticket> passed{};  ///< each of them must call end() at some time
    std::set<Ticket> overtaken{};  ///< under way, and a later term waits for their end
  };

  /// A request with a valid stamp; the holder may be empty. Tickets are never used again.
  [[nodiscard]] Effects arrive(Ticket ticket, const TermStamp& stamp);
  [[nodiscard]] Effects stored(const TermStamp& stamp);
  [[nodiscard]] Effects notStored(const TermStamp& stamp, const FenceError& why);
  [[nodiscard]] Effects end(Ticket ticket);
  /// A waiting request is withdrawn.
  [[nodiscard]] Effects leave(Ticket ticket);

  /// Registers a request of the last known term that may still be under way, because the proxy that let it pass was
  /// killed.
  void suppose(Ticket ticket);

  /// Why this term is over, or belongs to another holder; empty: neither.
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
