// A renewal through a store, for benches that compare it with others.
#pragma once

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure::bench {

/// The store as its users see it: asynchronous, on its own thread.
class ThroughStore {
 public:
  explicit ThroughStore(std::shared_ptr<LeaseStore> store) : store_{std::move(store)} {
    std::promise<StoreStatus> made;
    store_->ensureSchema({std::chrono::seconds{10}}, [&](StoreStatus status) { made.set_value(std::move(status)); });
    if (const StoreStatus status = made.get_future().get(); status.has_error()) {
      throw std::runtime_error(status.error().message);
    }
    LeaseRecord record = ours("v0");
    token_ = apply({key_, WriteRequest::Purpose::acquire, {}, record});
  }
  void renew(const std::string& from, const std::string& to) {
    LeaseRecord record = ours(to);
    record.token = token_;
    (void)apply({key_, WriteRequest::Purpose::renew, {RecordVersion{from}}, record});
  }

 private:
  static LeaseRecord ours(const std::string& version) {
    LeaseRecord record;
    record.holder = "me#0";
    record.version = RecordVersion{version};
    record.leaseDuration = std::chrono::milliseconds{10'000};
    return record;
  }
  FencingToken apply(WriteRequest request) {
    std::promise<WriteOutcome> promise;
    store_->write(std::move(request), {std::chrono::seconds{10}},
                  [&](WriteOutcome outcome) { promise.set_value(std::move(outcome)); });
    const WriteOutcome outcome = promise.get_future().get();
    const auto* applied = std::get_if<Applied>(&outcome);
    if (const auto* rejected = std::get_if<Rejected>(&outcome)) throw std::runtime_error(rejected->error.message);
    if (applied == nullptr) throw std::runtime_error("the store did not apply a renewal");
    return applied->token;
  }

  LeaseKey key_{"bench"};
  std::shared_ptr<LeaseStore> store_;
  FencingToken token_{};
};

}  // namespace tenure::bench
