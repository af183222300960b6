// The clients of one process that wait for one key of one store stand in line.
#pragma once

#include <functional>
#include <memory>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure {

/// Only the first in the line asks the store, whether it waits or holds; the next is told when that one is done. So a
/// hand-over within a process costs the same few requests however many wait, and it is first come, first served. It is
/// a courtesy and no part of the protocol: nobody is kept from competing who does not stand in line, and who has stood
/// there for long competes from his place.
///
/// Calls `begin`, now or later, on some thread; leaving (the end of the returned handle) may call that of the next.
/// Both must return at once.
[[nodiscard]] std::shared_ptr<void> standInLine(const std::shared_ptr<LeaseStore>& store, const LeaseKey& key,
                                                std::function<void()> begin);

}  // namespace tenure
