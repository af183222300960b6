// A renewal through a store, for benches that compare it with others.
#pragma once

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lockcore/port/lease_store.hpp"

namespace tenure::bench {

/// The store as its users see it: asynchronous, on its own thread.
class ThroughStore {
 public:
  /// Takes the lease, whatever an earlier run has left there.
  explicit ThroughStore(std::shared_ptr<LeaseStore> store, std::string lease = "bench")
      : key_{std::move(lease)}, store_{std::move(store)} {
    const auto made = answerOf<StoreStatus>([&](auto handler) { store_->ensureSchema(patience, std::move(handler)); });
    if (made.has_error()) throw std::runtime_error(made.error().message);
    const auto found = answerOf<ReadOutcome>([&](auto handler) { store_->read(key_, patience, std::move(handler)); });
    if (found.has_error()) throw std::runtime_error(found.error().message);
    std::vector<RecordVersion> stored;
    if (*found) stored.push_back((*found)->version);
    token_ = apply({key_, WriteRequest::Purpose::acquire, std::move(stored), ours("v0")});
  }
  [[nodiscard]] WriteRequest renewal(const std::string& from, const std::string& to) const {
    LeaseRecord record = ours(to);
    record.token = token_;
    return {key_, WriteRequest::Purpose::renew, {RecordVersion{from}}, std::move(record)};
  }
  void renew(const std::string& from, const std::string& to) { (void)apply(renewal(from, to)); }

 private:
  static LeaseRecord ours(const std::string& version) {
    LeaseRecord record;
    record.holder = "me#0";
    record.version = RecordVersion{version};
    record.leaseDuration = std::chrono::milliseconds{10'000};
    return record;
  }
  template <class Answer, class Ask>
  static Answer answerOf(const Ask& ask) {
    std::promise<Answer> promise;
    ask([&](Answer answer) { promise.set_value(std::move(answer)); });
    return promise.get_future().get();
  }
  FencingToken apply(WriteRequest request) {
    const auto outcome =
        answerOf<WriteOutcome>([&](auto handler) { store_->write(std::move(request), patience, std::move(handler)); });
    const auto* applied = std::get_if<Applied>(&outcome);
    if (const auto* rejected = std::get_if<Rejected>(&outcome)) throw std::runtime_error(rejected->error.message);
    if (applied == nullptr) throw std::runtime_error("the store did not apply a renewal");
    return applied->token;
  }

  static constexpr CallOptions patience{std::chrono::seconds{10}};

  LeaseKey key_;
  std::shared_ptr<LeaseStore> store_;
  FencingToken token_{};
};

}  // namespace tenure::bench
