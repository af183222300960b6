// A write from its first request to its outcome.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "core.hpp"
#include "lockcore/stored/decisions.hpp"
#include "state.hpp"

namespace tenure::etcd_store {

using stored::Change;
using stored::Decision;

/// Shared by the handlers of its requests; answers once.
struct WriteCall {
  CorePtr core;
  LeaseKey key;
  std::string_view doing;  ///< "renewing"
  CallDeadline deadline;
  /// What a write does, from what is stored.
  std::function<Decision(const State&)> decide;
  WriteHandler handler;
  /// Its transactions may be sent to another member too while a copy is out. At most one copy is carried out, because
  /// it changes the revisions that they require. The record then shows the version that this write gave it.
  bool repeats{false};
  bool holds{false};  ///< the process holds the lease afterwards, and will renew it
};
using WriteCallPtr = std::shared_ptr<WriteCall>;

/// Decides from what this process last wrote of the lease, if it has, else from what it reads; and once more from what
/// the answer shows if that was out of date.
void perform(const WriteCallPtr& call);

/// The transaction that carries out `change` if nothing has changed since `seen`.
[[nodiscard]] std::string bodyOf(const Keys& keys, const LeaseKey& key, const State& seen, const Change& change);

/// Whether the answer is that of bodyOf() carried out.
[[nodiscard]] bool showsChange(const State& seen, const Change& change, const TxnReply& reply);

}  // namespace tenure::etcd_store
