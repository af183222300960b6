// The pairs of the register: what is stored of a lease, and how it is read, swapped and listed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/kubernetes/errors.hpp"
#include "lockcore/kubernetes/gateway.hpp"
#include "lockcore/kubernetes/lease_object.hpp"
#include "lockcore/kubernetes/requests.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/stored/held_states.hpp"
#include "lockcore/stored/register_store.hpp"
#include "micro_time.hpp"
#include "object_texts.hpp"
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
struct Core : stored::AnswersCalls {
  Core(Settings settingsOfStore, std::string description, Logger log, std::shared_ptr<Scheduler> tasks,
       std::weak_ptr<Gateway> server)
      : AnswersCalls{std::move(tasks)},
        settings{std::move(settingsOfStore)},
        requests{settings.inNamespace},
        where{std::move(description)},
        logger{std::move(log)},
        gateway{std::move(server)} {}

  Settings settings;
  Requests requests;
  std::string where;  ///< describes the store
  Logger logger;
  /// Owned by the store. When the store is destroyed, it answers the requests under way, and no call starts another.
  std::weak_ptr<Gateway> gateway;
  stored::HeldStates<TermClock> clocks{};
  WatchedObjects watched{};
};
using CorePtr = std::shared_ptr<Core>;

/// Sends one request with what is left of the call's time. The handler is called once and never inside this call. If no
/// time is left or the store is gone, it gets a fault that says that nothing was sent.
void send(const CorePtr& core, Request request, const CallDeadline& deadline, OutcomeHandler handler);

using stored::Change;

/// Its revision is the object's resourceVersion, or the number of terms that other clients have counted if that is
/// more. An acquisition requires that the object is unchanged, so its token is above all of the lease: those of this
/// object are in it, and those of objects that were deleted before are below its resourceVersion, because each
/// acquisition consumes one and takes no token above it (unless a floor lifted it, and that is for the candidates to
/// remember).
struct State : stored::StoredLease {
  std::optional<LeaseObject> object{};  ///< empty: there is none
};

[[nodiscard]] State stateOf(const std::string& where, const LeaseKey& key, LeaseObject object);
/// There is no object.
[[nodiscard]] State absentState();

/// What is stored of the tokens.
[[nodiscard]] StoreResult<StoredTokens> tokensOf(const Core& core, const LeaseKey& key, const State& state);

/// Linearizable. A look by a process that does not hold the lease lets renewals go first.
void loadState(const CorePtr& core, const stored::RegisterCall& call, stored::LoadHandler handler);

void swapState(const CorePtr& core, const stored::RegisterCall& call, std::shared_ptr<const State> seen, Change change,
               stored::SwapHandler handler);

/// Whether the object shows the change carried out.
[[nodiscard]] bool showsChange(const State& seen, const Change& change, const State& shown);

/// A page may have a quarter of a megabyte for each.
inline constexpr std::size_t leasesOfAPage = 100;

/// The Leases that the store has written, by their label. The server sorts them by the names of the objects. `from` as
/// in LeaseStore::listPage(): the server's `continue`, and where the page before ended.
void scanLeases(const CorePtr& core, const std::string& prefix, const std::string& from, const CallDeadline& deadline,
                stored::ScanHandler handler);

}  // namespace tenure::kubernetes_store
