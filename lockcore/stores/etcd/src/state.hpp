// What every call of a store uses, and the pairs of the register: what is stored of a lease at one revision, and how it
// is read, swapped and listed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "errors.hpp"
#include "gateway.hpp"
#include "keys.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/stored/register_store.hpp"
#include "record_codec.hpp"
#include "replies.hpp"

namespace tenure::etcd_store {

/// Shared by the store and its calls under way, so these are answered even when the store is gone.
struct Core : stored::AnswersCalls {
  Core(Keys keysOfStore, std::string description, std::shared_ptr<Scheduler> tasks, std::weak_ptr<Gateway> members)
      : AnswersCalls{std::move(tasks)},
        keys{std::move(keysOfStore)},
        where{std::move(description)},
        gateway{std::move(members)} {}

  Keys keys;
  std::string where;  ///< describes the store
  /// Owned by the store. When the store is destroyed, it answers the requests under way, and no call starts another.
  std::weak_ptr<Gateway> gateway;
};
using CorePtr = std::shared_ptr<Core>;

/// Sends one transaction with what is left of the call's time. The handler is called once and never inside this call.
/// If no time is left or the store is gone, it gets a fault that says that nothing was sent.
void send(const CorePtr& core, std::string body, const CallDeadline& deadline, Gateway::Repeat repeat,
          OutcomeHandler handler);

using stored::Change;

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

/// What the two keys of a lease mean, as they were at a revision.
[[nodiscard]] State stateOf(const Keys& keys, const std::string& where, const LeaseKey& key, Slot record, Slot counter,
                            std::int64_t revision);

/// The state in an answer whose parts are the reads of the record's key and of the counter's key.
[[nodiscard]] boost::system::result<State, Misunderstood> stateIn(const Core& core, const LeaseKey& key,
                                                                  const TxnReply& reply);

/// What is stored of the tokens.
[[nodiscard]] StoreResult<StoredTokens> tokensIn(const Core& core, const LeaseKey& key, const State& state);

/// Reads both keys at one revision. Linearizable.
void loadState(const CorePtr& core, const stored::RegisterCall& call, stored::LoadHandler handler);

/// Sent to another member too while a copy is out, where the record shows by the version that this write gave it
/// whether a copy was carried out. At most one is, because it changes the revisions that all require.
void swapState(const CorePtr& core, const stored::RegisterCall& call, std::shared_ptr<const State> seen, Change change,
               stored::SwapHandler handler);

/// The transaction that carries out `change` if nothing has changed since `seen`.
[[nodiscard]] std::string bodyOf(const Keys& keys, const LeaseKey& key, const State& seen, const Change& change);

/// Whether the answer is that of bodyOf() carried out.
[[nodiscard]] bool showsChange(const State& seen, const Change& change, const TxnReply& reply);

/// A page is one range of records and, at the same revision, one transaction that reads their counters; a server takes
/// 128 operations in one.
inline constexpr std::size_t leasesOfAPage = 100;

/// `from` as in LeaseStore::listPage().
void scanLeases(const CorePtr& core, const std::string& prefix, const std::string& from, const CallDeadline& deadline,
                stored::ScanHandler handler);

}  // namespace tenure::etcd_store
