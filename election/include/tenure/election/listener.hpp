// The callbacks of an elector and their contract; an operator's pause, which they see as a holder.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/election/leadership.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

struct Doubt {
  StoreError error;
  std::chrono::nanoseconds remaining;  ///< until leadership ends if no renewal succeeds
};

struct Renewal {
  FencingToken token;
  bool afterDoubt;  ///< whether it ends a doubt that onInDoubt announced
};

/// Any of them may be empty. Contract:
/// - Thread: onElected and onRevoked of one elector run in order and never at the same time, on the elector's executor
///   (by default on threads of the library itself, as many as there are callbacks that block). The other four run in
///   order among themselves, in parallel to the first two: a blocked onElected does not delay them. While one of the
///   four blocks, at most 64 calls wait. Beyond that the oldest are dropped, and a warning is logged.
/// - May block: yes. Renewal continues, and the deadline holds. While onElected blocks, onRevoked waits for it;
///   the stop token does not.
/// - Strictly alternating: every onElected is followed by exactly one onRevoked, before the next onElected and before
///   stop() returns (unless the work outlasts the drain timeout). Never one without the other (invariant I5), unless
///   the work outlasts the destructor too: after the destructor nothing is called.
/// - Begins, or the term is given back: if onElected has not begun within one lease, because the system gives no thread
///   or the executor has not run it, the lease is released (reason notStarted, in log and status). Neither onElected
///   nor onRevoked is called for that term. The candidate competes again once the executor runs.
/// - The lease is given up (released) only after onRevoked of every listener has returned (invariant I9).
/// - May call anything of the elector, stop() and its destructor too. In a callback these two return at once and are
///   carried out after it.
/// - Exceptions are contained and logged. An exception from onElected gives leadership up (reason fatal); the candidacy
///   continues.
struct Listener {
  std::function<void(const Leadership&)> onElected{};
  std::function<void(const TermEnd&)> onRevoked{};
  std::function<void(const Doubt&)> onInDoubt{};
  /// Called for acknowledged renewals. If several came while an earlier call was running, only one of them is reported.
  std::function<void(const Renewal&)> onRenewed{};
  /// As far as this candidate sees, the leader has changed: to another candidate, to this candidate, or to none. Also
  /// called when it states another address or priority (LeaderInfo::address), and when an operator pauses the group:
  /// the holder is then a pause (pauseIn), and no candidate leads.
  std::function<void(const std::optional<LeaderInfo>&)> onLeaderChanged{};
  /// To a candidate that does not lead: the lease may be free soon, because its holder has not renewed it for half of
  /// the lease, or has released it. `remaining`: until this candidate may acquire it, if it sees no renewal; zero: now.
  /// Warm up here. It says nothing about who wins, and the holder may renew after all. At most once between two
  /// renewals; not called where the holder's crash is proven, or where the store shows nothing in time.
  std::function<void(std::chrono::nanoseconds remaining)> onVacancyExpected{};
};

/// While a group is paused, its lease is held by a lock token of an operator instead of a candidate, and the holder's
/// name says who paused it and why: `paused by alice@db1: maintenance`. To candidates it is a holder like any other. It
/// ends when it is released (`tenure resume`) or when its lease has passed.
struct Pause {
  std::string by;   ///< USER@HOST
  std::string why;  ///< the operator's reason

  friend bool operator==(const Pause&, const Pause&) = default;
};

/// The pause in a holder text (LeaderInfo::holder) or in the name in it; empty: the holder is not a pause. Any user who
/// can write to the store can write such a text, so it is for people.
[[nodiscard]] TENURE_API std::optional<Pause> pauseIn(std::string_view holder);

/// The name of a lock token's owner (TokenAcquireOptions::owner) that says this. `by` must not contain ": ".
/// faultOfCandidateName says whether the whole text may be a name.
[[nodiscard]] TENURE_API std::string pauseOwner(const Pause& pause);

/// For people: "paused by alice@db1: maintenance".
[[nodiscard]] TENURE_API std::string toString(const Pause& pause);

}  // namespace tenure
