// Swaps of the register, from the change that was decided to what became of it.
#pragma once

#include <memory>

#include "lockcore/stored/register_store.hpp"
#include "store_core.hpp"

namespace tenure::postgresql_store {

/// One swap on its way.
struct Swap {
  stored::RegisterCall call;
  std::shared_ptr<const RowState> seen;
  std::shared_ptr<const RowState> next;  ///< what is stored once it is done; of a correction: `seen`
  RowChange change;
  stored::SwapHandler handler;
};
using SwapPtr = std::shared_ptr<const Swap>;

[[nodiscard]] SwapPtr swapOf(const StoreCore& core, const stored::RegisterCall& call,
                             std::shared_ptr<const RowState> seen, const stored::Change& change,
                             stored::SwapHandler handler);

/// From a row of WrittenColumn: the server has written what was decided, or the answer is not to be believed.
[[nodiscard]] stored::SwapOutcome outcomeOfRow(const StoreCore& core, const Swap& swap, const Value& token,
                                               const Value& counter);

/// In a transaction of its own. A renewal goes out on the connection that is kept for them.
void perform(const CorePtr& core, const SwapPtr& swap);

}  // namespace tenure::postgresql_store
