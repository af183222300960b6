// A write over a register, from its first request to its outcome.
#pragma once

#include <memory>

#include <tenure/lockcore/lease_store.hpp>

#include "decisions.hpp"
#include "held_states.hpp"
#include "hint_watcher.hpp"
#include "register_store.hpp"

namespace tenure::stored {

struct KnownLease {
  LoadedLease lease;
  bool own{false};  ///< this process holds it by the term that is in `lease`
};

/// Shared by a store and its calls under way.
struct RegisterCore : AnswersCalls {
  explicit RegisterCore(RegisterParts& parts);

  const std::shared_ptr<Register> leases;
  const std::shared_ptr<RegisterExtras> extras;
  const std::shared_ptr<HintWatcher> hints;  ///< null: the store does not watch
  HeldStates<KnownLease> known{};
};
using RegisterCorePtr = std::shared_ptr<RegisterCore>;

/// For an acquisition by this process that may follow soon.
[[nodiscard]] bool isWorthKeeping(const RegisterCore& core, const StoredLease& lease);

/// Shared by the handlers of its requests; answers once.
struct RegisterWrite {
  RegisterCorePtr core;
  RegisterCall call;
  Decide decide;
  WriteHandler handler;
  bool maybeApplied{false};  ///< an earlier swap of this write may have been carried out
};

/// Decides from what this process last wrote or saw of the lease, if it has, else from what it loads; and once more
/// from what is stored where that was out of date, within the same time: somebody may have written a label. A swap is
/// never sent again by itself: what it required has passed and does not come back.
void perform(const std::shared_ptr<RegisterWrite>& write);

}  // namespace tenure::stored
