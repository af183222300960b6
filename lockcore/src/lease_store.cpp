#include <utility>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/scheduler.hpp>

namespace tenure {

// NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do remove keep them
void LeaseStore::remove(const LeaseKey& /*key*/, RecordVersion /*version*/, CallOptions /*options*/,
                        WriteHandler handler) {
  const StoreError cannot{ErrorClass::misconfigured, describe() + ": this store does not delete records"};
  sharedScheduler()->post([handler = std::move(handler), cannot] { handler(Rejected{cannot}); });
}

}  // namespace tenure
