// What is stored of one lease at one revision.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

#include "core.hpp"
#include "lockcore/stored/register.hpp"
#include "record_codec.hpp"
#include "replies.hpp"

namespace tenure::etcd_store {

/// A key as it was read.
struct Slot {
  std::int64_t changedAt{0};           ///< the revision that a transaction compares; 0: there is no such key
  std::optional<std::string> value{};  ///< empty: there is no such key
};

/// Its revision is that of the whole cluster.
struct State : stored::StoredLease {
  Slot recordSlot{};
  Slot counterSlot{};
};

/// The state in an answer whose parts are the reads of the record's key and of the counter's key.
[[nodiscard]] boost::system::result<State, Misunderstood> stateIn(const Core& core, const LeaseKey& key,
                                                                  const TxnReply& reply);

/// What is stored of the tokens.
[[nodiscard]] StoreResult<StoredTokens> tokensIn(const Core& core, const LeaseKey& key, const State& state);

/// Reads both keys at one revision. Linearizable.
void loadState(const CorePtr& core, const stored::RegisterCall& call, stored::LoadHandler handler);

}  // namespace tenure::etcd_store
