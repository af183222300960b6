// A store that refuses data for good: an item that is full, or permissions that leave an attribute out.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/extended_store.hpp"

namespace tenure::test {

/// Renewals and releases whose data are longer than `room` are rejected, and nothing of them is applied.
class DataRefusingStore final : public ForwardingStore {
 public:
  DataRefusingStore(std::shared_ptr<LeaseStore> behind, std::shared_ptr<Scheduler> scheduler, std::size_t room = 0)
      : ForwardingStore{std::move(behind)}, scheduler_{std::move(scheduler)}, room_{room} {}

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    const bool fits = request.purpose == WriteRequest::Purpose::acquire || request.record.data.size() <= room_;
    if (fits) return ForwardingStore::write(std::move(request), options, std::move(handler));
    scheduler_->post([handler = std::move(handler)] {
      handler(Rejected{StoreError{ErrorClass::misconfigured, "the item is full"}});
    });
  }

 private:
  const std::shared_ptr<Scheduler> scheduler_;
  const std::size_t room_;
};

}  // namespace tenure::test
