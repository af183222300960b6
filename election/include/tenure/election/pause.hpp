// An operator's pause: the holder text of a lease that is taken so that nobody leads (`tenure pause`).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// While a group is paused, its lease is held by a lock token of an operator instead of a candidate, and the holder's
/// name says who paused it and why: `paused by alice@db1: maintenance`. To candidates it is a holder like any other. It
/// ends when it is released (`tenure resume`) or when its lease has passed.
struct TENURE_API Pause {
  std::string by;   ///< USER@HOST
  std::string why;  ///< the operator's words

  friend bool operator==(const Pause&, const Pause&) = default;
};

/// The pause in a holder text (LeaderInfo::holder) or in the name in it; empty: the holder is no pause. Anybody who can
/// write to the store can write such a text, so it is for people.
[[nodiscard]] TENURE_API std::optional<Pause> pauseIn(std::string_view holder);

/// The name of a lock token's owner (TokenAcquireOptions::owner) that says this. `by` must not contain ": ". Whether
/// the whole may be a name is told by faultOfCandidateName.
[[nodiscard]] TENURE_API std::string pauseOwner(const Pause& pause);

/// For people: "paused by alice@db1: maintenance".
[[nodiscard]] TENURE_API std::string toString(const Pause& pause);

}  // namespace tenure
