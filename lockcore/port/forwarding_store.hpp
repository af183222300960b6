// A store in front of another one. What derives from it overrides only what it changes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "lockcore/port/lease_store.hpp"

namespace tenure {

/// Forwards every call.
class ForwardingStore : public LeaseStore {
 public:
  explicit ForwardingStore(std::shared_ptr<LeaseStore> behind) : behind_{std::move(behind)} {}

  [[nodiscard]] std::string describe() const override { return behind_->describe(); }
  void ensureSchema(CallOptions options, StatusHandler handler) override {
    behind_->ensureSchema(options, std::move(handler));
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    behind_->read(key, options, std::move(handler));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    behind_->write(std::move(request), options, std::move(handler));
  }
  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& key, const std::string& data,
                                             const std::map<std::string, std::string>& attributes) const override {
    return behind_->faultsOfPayload(key, data, attributes);
  }
  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    behind_->list(std::move(prefix), options, std::move(handler));
  }
  void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler) override {
    behind_->listPage(std::move(prefix), std::move(from), options, std::move(handler));
  }
  void listName(std::string name, CallOptions options, ListHandler handler) override {
    behind_->listName(std::move(name), options, std::move(handler));
  }
  [[nodiscard]] bool keepsGroupsTogether() const noexcept override { return behind_->keepsGroupsTogether(); }
  void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) override {
    behind_->requestStepDown(key, token, options, std::move(handler));
  }
  void remove(const LeaseKey& key, RecordVersion seen, CallOptions options, WriteHandler handler) override {
    behind_->remove(key, std::move(seen), options, std::move(handler));
  }
  void readTokens(const LeaseKey& key, CallOptions options, TokensHandler handler) override {
    behind_->readTokens(key, options, std::move(handler));
  }
  void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions options,
                 WriteHandler handler) override {
    behind_->setTokens(key, std::move(expected), token, options, std::move(handler));
  }
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    return behind_->watch(key, std::move(hint));
  }
  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> hint) override {
    return behind_->watchLoss(std::move(hint));
  }
  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override { return behind_->deathNotice(); }

 protected:
  const std::shared_ptr<LeaseStore> behind_;
};

}  // namespace tenure
