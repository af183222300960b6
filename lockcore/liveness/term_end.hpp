// Whether a write has ended its term.
#pragma once

#include "lockcore/port/lease_store.hpp"

namespace tenure::liveness {

/// `opened`: the term was not open before this write.
[[nodiscard]] inline bool endsTerm(const WriteRequest& request, bool opened, const WriteOutcome& outcome) {
  const bool releases = request.purpose == WriteRequest::Purpose::release;
  const auto* lost = std::get_if<Conflict>(&outcome);
  const bool tells = lost != nullptr && lost->current && *lost->current;
  // The stored record may come from an earlier acquisition whose answer was lost: then the term is this holder's after
  // all.
  const bool isOwn = tells && (*lost->current)->holder == request.record.holder && !(*lost->current)->released;
  const bool released = releases && std::holds_alternative<Applied>(outcome);
  const bool neverBegan = opened && std::holds_alternative<Rejected>(outcome);
  return released || neverBegan || (lost != nullptr && !isOwn);
}

}  // namespace tenure::liveness
