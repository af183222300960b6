// A store that tells nothing by itself.
#pragma once

#include <functional>
#include <memory>

#include "lockcore/port/extended_store.hpp"

namespace tenure::test {

/// Keeps back what a store may tell by itself, notifications and death notices: who waits has only its polls.
class PolledStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& /*key*/, std::function<void()> /*hint*/) override {
    return nullptr;
  }
  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> /*hint*/) override { return nullptr; }
  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override { return nullptr; }
};

}  // namespace tenure::test
