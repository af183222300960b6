// The callbacks of an elector and the contract that they come with.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <tenure/election/leadership.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

struct Doubt {
  StoreError error;
  std::chrono::nanoseconds remaining;  ///< until leadership ends if nothing gets better
};

struct Renewal {
  FencingToken token;
  bool afterDoubt;  ///< ends a doubt that onInDoubt announced
};

/// Any of them may be empty. Contract:
/// - Thread: onElected and onRevoked of one elector run in order and never at the same time, on the elector's executor
///   (by default on threads of the library's own, as many as block). The other three run in order among themselves,
///   beside the first two: a blocked onElected does not hold them up. While one of the three blocks at most 64 wait;
///   the oldest are dropped then, and a warning is logged.
/// - May block: yes. Renewal and the deadline go on meanwhile. While onElected blocks, onRevoked waits for it; the
///   stop token does not.
/// - Strictly alternating: every onElected is followed by exactly one onRevoked, before the next onElected and before
///   stop() returns (unless the work outlasts the drain timeout). Never one without the other (invariant I5), unless
///   the work outlasts the destructor too, after which nothing is called.
/// - The lease is given up (released) only after onRevoked of every listener has returned (invariant I9).
/// - May call anything of the elector, stop() and its destructor included; both return at once in a callback and are
///   carried out after it.
/// - Exceptions are contained and logged. One from onElected gives leadership up (reason fatal); the candidacy goes on.
struct Listener {
  std::function<void(const Leadership&)> onElected{};
  std::function<void(const TermEnd&)> onRevoked{};
  std::function<void(const Doubt&)> onInDoubt{};
  /// Every acknowledged renewal; of several that came in a row while an earlier call was running, only one is told.
  std::function<void(const Renewal&)> onRenewed{};
  /// Somebody else (or this candidate, or nobody) leads now, as far as this candidate sees.
  std::function<void(const std::optional<LeaderInfo>&)> onLeaderChanged{};
};

}  // namespace tenure
