// What is stored of one lease, as it was read.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include <tenure/lockcore/lease_store.hpp>

#include "core.hpp"
#include "lease_object.hpp"
#include "lockcore/stored/stored_lease.hpp"
#include "renew_time.hpp"

namespace tenure::kubernetes_store {

/// Its revision is the object's resourceVersion, or the number of terms that other clients have counted if that is
/// more. An acquisition requires that the object is unchanged, so its token is above all of the lease: those of this
/// object are in it, and those of objects that were deleted before are below its resourceVersion, because each
/// acquisition consumes one and takes no token above it (unless a floor lifted it, and that is for the candidates to
/// remember).
struct State : stored::StoredLease {
  std::optional<LeaseObject> object{};  ///< empty: there is none
  std::optional<RenewClock> clock{};    ///< of the term that this process holds
};

[[nodiscard]] State stateOf(const Core& core, const LeaseKey& key, LeaseObject object);
/// There is no object.
[[nodiscard]] State absentState();

/// Whether the record is of the term of this one.
[[nodiscard]] bool isTermOf(const State& state, const LeaseRecord& record);

/// What is stored of the tokens.
[[nodiscard]] StoreResult<StoredTokens> tokensOf(const Core& core, const LeaseKey& key, const State& state);

struct Reading {
  std::string_view doing;  ///< "reading"
  bool yields{false};      ///< as Request::yields
};

/// Linearizable.
void readState(const CorePtr& core, const LeaseKey& key, const Reading& reading, const CallDeadline& deadline,
               std::function<void(StoreResult<State>)> handler);

}  // namespace tenure::kubernetes_store
