// A write from its first request to its outcome.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "core.hpp"
#include "lockcore/stored/decisions.hpp"
#include "state.hpp"

namespace tenure::kubernetes_store {

using stored::Change;
using stored::Decision;

/// Shared by the handlers of its requests; answers once.
struct WriteCall {
  CorePtr core;
  LeaseKey key;
  std::string_view doing;  ///< "renewing"
  CallDeadline deadline;
  std::function<Decision(const State&)> decide;
  WriteHandler handler;
  bool own{false};                       ///< by whoever holds the lease, or wants to
  std::shared_ptr<const State> known{};  ///< what the process last wrote, as perform() found it; null: nothing
};
using WriteCallPtr = std::shared_ptr<WriteCall>;

/// Decides from what this process last wrote of the lease, if it has, else from what it reads. Where the object has
/// been changed since, it reads it again and decides again, within the same time: somebody may have written a label.
void perform(const WriteCallPtr& call);

/// Whether the object shows the change carried out.
[[nodiscard]] bool showsChange(const State& seen, const Change& change, const State& shown);

}  // namespace tenure::kubernetes_store
