// The store over a register: every call of a LeaseStore, from its checks to its outcome.
#pragma once

#include <memory>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "hint_source.hpp"
#include "lockcore/port/lease_store.hpp"
#include "register_extras.hpp"

namespace tenure::stored {

struct RegisterParts {
  /// Calls under way share it. It must not keep alive what answers its requests, so that these are answered when the
  /// store is destroyed: that is `connection`.
  std::shared_ptr<Register> leases;
  /// Its clock counts the deadlines; it answers calls that ask nobody, and runs the pauses of the watch.
  std::shared_ptr<Scheduler> scheduler;
  std::shared_ptr<HintSource> hints{};  ///< null: the store does not watch
  Logger logger{};
  std::shared_ptr<void> connection{};  ///< destroyed with the store, before the register
  std::shared_ptr<RegisterExtras> extras{std::make_shared<RegisterExtras>()};
};

[[nodiscard]] TENURE_API std::shared_ptr<LeaseStore> makeRegisterStore(RegisterParts parts);

}  // namespace tenure::stored
