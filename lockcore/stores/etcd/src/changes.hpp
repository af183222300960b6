// A swap: one transaction that carries out a change if nothing has changed since the lease was read.
#pragma once

#include <memory>
#include <string>

#include "core.hpp"
#include "lockcore/stored/register.hpp"
#include "state.hpp"

namespace tenure::etcd_store {

using stored::Change;

/// Sent to another member too while a copy is out, where the record shows by the version that this write gave it
/// whether a copy was carried out. At most one is, because it changes the revisions that all require.
void swapState(const CorePtr& core, const stored::RegisterCall& call, std::shared_ptr<const State> seen, Change change,
               stored::SwapHandler handler);

/// The transaction that carries out `change` if nothing has changed since `seen`.
[[nodiscard]] std::string bodyOf(const Keys& keys, const LeaseKey& key, const State& seen, const Change& change);

/// Whether the answer is that of bodyOf() carried out.
[[nodiscard]] bool showsChange(const State& seen, const Change& change, const TxnReply& reply);

}  // namespace tenure::etcd_store
