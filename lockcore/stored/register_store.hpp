// The store over a register: every call of a LeaseStore, from its checks to its outcome. Registers of this tree offer
// it more than the port for authors has (<tenure/lockcore/register.hpp>).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/register.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "decisions.hpp"
#include "hint_source.hpp"
#include "lockcore/port/extended_store.hpp"

namespace tenure::stored {

/// What a look is doing, for messages. A look by a process that does not hold the lease may wait.
inline constexpr std::string_view reading = "reading";

/// Shared by a store, or its register, and their calls under way.
struct AnswersCalls {
  const std::shared_ptr<Scheduler> scheduler;

  /// Answers a call without asking anybody.
  template <class Answer>
  void post(std::function<void(Answer)> handler, Answer answer) const {
    scheduler->post(
        [handler = std::move(handler), answer = std::move(answer)]() mutable { handler(std::move(answer)); });
  }
};

/// Each function has a default that suits any register.
class TENURE_API RegisterExtras {
 public:
  virtual ~RegisterExtras() = default;

  /// The tokens as they are stored, even where they are malformed. By default only of what is understood.
  [[nodiscard]] virtual StoreResult<StoredTokens> tokensOf(const LeaseKey& key, const StoredLease& lease) const;

  /// What the store itself has no room for, where bytes alone (Register::mostPayload()) do not say it.
  [[nodiscard]] virtual OptionFaults faultsOfPayload(const std::string& /*data*/,
                                                     const std::map<std::string, std::string>& /*attributes*/) const {
    return {};
  }

  /// Whether what was read is kept for a while, so that an acquisition that follows is one request.
  [[nodiscard]] virtual bool keepsReads() const noexcept { return false; }

  /// As ExtendedStore::deathNotice().
  [[nodiscard]] virtual std::shared_ptr<DeathNotice> deathNotice() { return nullptr; }
  /// Before the first request of a write. It may put a handler in front of the one that gets the outcome. An error: the
  /// write must not be sent.
  [[nodiscard]] virtual StoreStatus beforeWrite(const WriteRequest& /*request*/, WriteHandler& /*handler*/) {
    return {};
  }

  /// For a register whose stream of hints shows what is stored: what it last showed of a lease that another process
  /// holds. It may be late, so only a read that may be is answered by it. Null: the server is to be asked.
  [[nodiscard]] virtual LoadedLease shown(const LeaseKey& /*key*/) { return nullptr; }
  /// The lease is watched, and was loaded just now.
  virtual void loadedWatched(const LeaseKey& /*key*/, const StoredLease& /*lease*/) {}
  /// What was shown of it counts no longer: this process writes it, or does not watch it any longer.
  virtual void forgetShown(const LeaseKey& /*key*/) {}
};

struct RegisterParts {
  /// Calls under way share it. It must not keep alive what answers its requests, so that these are answered when the
  /// store is destroyed: that is `connection`.
  std::shared_ptr<Register> leases;
  /// Its clock counts the deadlines; it answers calls that ask nobody, and runs the pauses of the watch.
  std::shared_ptr<Scheduler> scheduler;
  std::shared_ptr<HintSource> hints{};  ///< null: the store does not watch
  Logger logger{};
  std::shared_ptr<void> connection{};  ///< destroyed with the store, before the register
  std::shared_ptr<RegisterExtras> extras{std::make_shared<RegisterExtras>()};
};

[[nodiscard]] TENURE_API std::shared_ptr<LeaseStore> makeRegisterStore(RegisterParts parts);

}  // namespace tenure::stored
