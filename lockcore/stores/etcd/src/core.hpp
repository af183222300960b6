// What every call of a store uses, and how it sends its requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "errors.hpp"
#include "gateway.hpp"
#include "keys.hpp"
#include "lockcore/port/lease_store.hpp"

namespace tenure::etcd_store {

/// Shared by the store and its calls under way, so these are answered even when the store is gone.
struct Core {
  Core(Keys keysOfStore, std::string description, std::shared_ptr<Scheduler> tasks, std::weak_ptr<Gateway> members)
      : keys{std::move(keysOfStore)},
        where{std::move(description)},
        scheduler{std::move(tasks)},
        gateway{std::move(members)} {}

  Keys keys;
  std::string where;  ///< describes the store
  std::shared_ptr<Scheduler> scheduler;
  /// Owned by the store. When the store is destroyed, it answers the requests under way, and no call starts another.
  std::weak_ptr<Gateway> gateway;

  /// Answers a call without asking anybody.
  template <class Answer>
  void post(std::function<void(Answer)> handler, Answer answer) const {
    scheduler->post(
        [handler = std::move(handler), answer = std::move(answer)]() mutable { handler(std::move(answer)); });
  }
};
using CorePtr = std::shared_ptr<Core>;

/// Sends one transaction with what is left of the call's time. The handler is called once and never inside this call.
/// If no time is left or the store is gone, it gets a fault that says that nothing was sent.
void send(const CorePtr& core, std::string body, const CallDeadline& deadline, Gateway::Repeat repeat,
          OutcomeHandler handler);

}  // namespace tenure::etcd_store
