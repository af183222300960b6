// What every call of a store uses, and how it sends its requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "errors.hpp"
#include "gateway.hpp"
#include "lockcore/port/lease_store.hpp"
#include "lockcore/stored/held_states.hpp"
#include "object_texts.hpp"
#include "renew_time.hpp"
#include "requests.hpp"
#include "watched_objects.hpp"

namespace tenure::kubernetes_store {

/// Of a term that this process holds.
struct TermClock {
  std::string holder;
  FencingToken token;
  RenewClock clock;

  [[nodiscard]] bool isOf(const LeaseRecord& record) const { return record.holder == holder && record.token == token; }
};

/// Shared by the store and its calls under way, so these are answered even when the store is gone.
struct Core {
  Core(Settings settingsOfStore, std::string description, Logger log, std::shared_ptr<Scheduler> tasks,
       std::weak_ptr<Gateway> server)
      : settings{std::move(settingsOfStore)},
        requests{settings.inNamespace},
        where{std::move(description)},
        logger{std::move(log)},
        scheduler{std::move(tasks)},
        gateway{std::move(server)} {}

  Settings settings;
  Requests requests;
  std::string where;  ///< describes the store
  Logger logger;
  std::shared_ptr<Scheduler> scheduler;
  /// Owned by the store. When the store is destroyed, it answers the requests under way, and no call starts another.
  std::weak_ptr<Gateway> gateway;
  stored::HeldStates<TermClock> clocks{};
  WatchedObjects watched{};

  /// Answers a call without asking anybody.
  template <class Answer>
  void post(std::function<void(Answer)> handler, Answer answer) const {
    scheduler->post(
        [handler = std::move(handler), answer = std::move(answer)]() mutable { handler(std::move(answer)); });
  }
};
using CorePtr = std::shared_ptr<Core>;

/// Sends one request with what is left of the call's time. The handler is called once and never inside this call. If no
/// time is left or the store is gone, it gets a fault that says that nothing was sent.
void send(const CorePtr& core, Request request, const CallDeadline& deadline, OutcomeHandler handler);

}  // namespace tenure::kubernetes_store
