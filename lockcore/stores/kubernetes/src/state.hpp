// The pairs of the register: what is stored of a lease, and how it is read, swapped and listed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "core.hpp"
#include "lease_object.hpp"
#include "lockcore/port/lease_store.hpp"
#include "lockcore/stored/register_extras.hpp"

namespace tenure::kubernetes_store {

using stored::Change;

/// Its revision is the object's resourceVersion, or the number of terms that other clients have counted if that is
/// more. An acquisition requires that the object is unchanged, so its token is above all of the lease: those of this
/// object are in it, and those of objects that were deleted before are below its resourceVersion, because each
/// acquisition consumes one and takes no token above it (unless a floor lifted it, and that is for the candidates to
/// remember).
struct State : stored::StoredLease {
  std::optional<LeaseObject> object{};  ///< empty: there is none
};

[[nodiscard]] State stateOf(const Core& core, const LeaseKey& key, LeaseObject object);
/// There is no object.
[[nodiscard]] State absentState();

/// What is stored of the tokens.
[[nodiscard]] StoreResult<StoredTokens> tokensOf(const Core& core, const LeaseKey& key, const State& state);

/// Linearizable. A look by a process that does not hold the lease lets renewals go first.
void loadState(const CorePtr& core, const stored::RegisterCall& call, stored::LoadHandler handler);

void swapState(const CorePtr& core, const stored::RegisterCall& call, std::shared_ptr<const State> seen, Change change,
               stored::SwapHandler handler);

/// Whether the object shows the change carried out.
[[nodiscard]] bool showsChange(const State& seen, const Change& change, const State& shown);

/// A page may have a quarter of a megabyte for each.
inline constexpr std::size_t leasesOfAPage = 100;

/// The Leases that the store has written, by their label. The server sorts them by the names of the objects. `from` as
/// in LeaseStore::listPage(): the server's `continue`, and where the page before ended.
void scanLeases(const CorePtr& core, const std::string& prefix, const std::string& from, const CallDeadline& deadline,
                stored::ScanHandler handler);

}  // namespace tenure::kubernetes_store
