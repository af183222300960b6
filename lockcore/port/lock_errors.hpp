// What errors of locks and of lock tokens have in common.
#pragma once

#include <string>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/lock_error.hpp>

namespace tenure {

[[nodiscard]] LockErrc lockErrcOf(ErrorClass errorClass);
[[nodiscard]] LockError storeError(const LeaseKey& key, const StoreError& error);
/// LockErrc::invalidOptions. The message says that the store was not asked, and names every fault.
[[nodiscard]] LockError invalidOptionsError(const LeaseKey& key, OptionFaults faults);
/// `web-1#6f... (term 41) for 12.3 s; its version has not changed for 1.2 s of its lease of 10 s`.
[[nodiscard]] std::string describe(const HolderInfo& holder);

}  // namespace tenure
