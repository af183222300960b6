// Stores that refuse data for good: an item that is full, permissions that leave an attribute out, a limit.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
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

/// A limit that it states, so that nothing longer is ever sent.
class NarrowStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& /*key*/, const std::string& data,
                                             const std::map<std::string, std::string>& /*attributes*/) const override {
    if (data.size() <= most) return {};
    return {{"data", "is too long"}};
  }
  std::atomic<std::size_t> most{8};
};

}  // namespace tenure::test
