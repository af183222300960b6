// A swap: one request that carries out a change if the object is as it was read.
#pragma once

#include <memory>

#include "core.hpp"
#include "lockcore/stored/register.hpp"
#include "state.hpp"

namespace tenure::kubernetes_store {

using stored::Change;

void swapState(const CorePtr& core, const stored::RegisterCall& call, std::shared_ptr<const State> seen, Change change,
               stored::SwapHandler handler);

/// Whether the object shows the change carried out.
[[nodiscard]] bool showsChange(const State& seen, const Change& change, const State& shown);

}  // namespace tenure::kubernetes_store
