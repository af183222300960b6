// Which requests may pass on one lease, and when: the decision without threads, files or clocks.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <tenure/lockcore/fence.hpp>

#include "term_marks.hpp"

namespace tenure::http_fence {

using Ticket = std::uint64_t;

/// A check in front of a service is not one step with the service's work. So the gate lets only requests of one token
/// be under way at a time. The first request of a later term waits until
/// (1) its token is durable as *seen*, so that no restart forgets it,
/// (2) every request of an earlier term has ended, and
/// (3) its token is durable as *passed*, so that no restart takes its requests for those of an earlier term.
/// From its arrival on, requests of earlier terms are refused. Requests of one term pass in parallel.
///
/// (1) and (3) are two marks, because (2) takes time in which the process may be killed. With the first alone, the next
/// process would find the later term on the disk and let it pass, beside the earlier request that is still under way.
/// The second is never written before (2). So while it names a term, only requests of that term can be under way. If
/// there is nothing to wait for, one write makes both.
class LeaseGate {
 public:
  /// `seen`: what the memory holds; empty if it holds nothing yet.
  LeaseGate(std::optional<TermStamp> seen, std::size_t maxWaiting)
      : highest_{seen}, seen_{std::move(seen)}, maxWaiting_{maxWaiting} {}

  struct Refused {
    Ticket ticket;
    FenceError error;
  };
  /// What is to be done after an event, in this order.
  struct Effects {
    std::optional<TermMarks> store{};  ///< make them durable, then call stored() or notStored()
    std::vector<Refused> refused{};
    std::vector<Ticket> passed{};  ///< each of them must call end() at some time
    std::set<Ticket> overtaken{};  ///< under way, and a later term waits for their end
  };

  /// A request with a valid stamp; the holder may be empty. Tickets are never used again.
  [[nodiscard]] Effects arrive(Ticket ticket, const TermStamp& stamp);
  [[nodiscard]] Effects stored(const TermMarks& marks);
  [[nodiscard]] Effects notStored(const TermMarks& marks, const FenceError& why);
  [[nodiscard]] Effects end(Ticket ticket);
  /// A waiting request is withdrawn.
  [[nodiscard]] Effects leave(Ticket ticket);

  /// Registers a request that may still be under way, because the proxy that let it pass was killed. `passed`: the mark
  /// that this proxy left. Token 0: it left none, so the request may be of any term, and every term waits for its end.
  void suppose(Ticket ticket, FencingToken passed);

  /// Why this term is over, or belongs to another holder; empty: neither.
  [[nodiscard]] std::optional<FenceError> errorOf(const TermStamp& stamp) const;
  [[nodiscard]] const std::optional<TermStamp>& highest() const noexcept { return highest_; }
  /// The highest on the disk.
  [[nodiscard]] const std::optional<TermStamp>& seen() const noexcept { return seen_; }

 private:
  struct Waiter {
    Ticket ticket;
    TermStamp stamp;
  };

  [[nodiscard]] bool isSeen(const TermStamp& stamp) const;
  [[nodiscard]] bool othersHaveEnded(FencingToken token) const;
  [[nodiscard]] bool mayPass(const TermStamp& stamp) const;
  void begin(Ticket ticket, FencingToken token);
  void askForMarks(Effects& effects) const;
  void passWaiting(Effects& effects);
  void raiseHighest(const TermStamp& stamp, Effects& effects);

  std::optional<TermStamp> highest_;  ///< seen by this process; never falls
  std::optional<TermStamp> seen_;     ///< the same on the disk
  FencingToken passed_{};             ///< on the disk, and not above seen_; none: no term might pass
  std::size_t maxWaiting_;
  FencingToken underWayToken_{};  ///< of all requests in underWay_; without meaning while there are none
  std::set<Ticket> underWay_{};
  std::deque<Waiter> waiting_{};  ///< in the order in which they came; if there are any, highest_ is set
};

}  // namespace tenure::http_fence
