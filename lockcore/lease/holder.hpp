// A candidate that holds the lease: it renews in time, resolves writes that were not answered, and ends the term on
// time and only once.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "next_role.hpp"
#include "retry.hpp"

namespace tenure {

/// It leads until leadership is given up or lost. If leadership is given up voluntarily, the term drains: the lease is
/// kept until the work has ended.
class Holder : public Ignores<event::Wakeup> {
 public:
  Holder(MachineCore& core, HeldTerm term) : core_{core}, term_{std::move(term)} {}

  /// The term begins.
  void enter(const Instant& now, std::shared_ptr<const LeasePayload> payload, TermOrigin origin);

  using Ignores::handle;
  [[nodiscard]] NextRole handle(const Instant& now, const event::StepDown& event);
  [[nodiscard]] NextRole handle(const Instant& now, const event::SetReady& event);
  [[nodiscard]] NextRole handle(const Instant& now, const event::Stop& event);
  [[nodiscard]] NextRole handle(const Instant& now, const event::Renew& event);
  [[nodiscard]] NextRole handle(const Instant& now, const event::WorkEnded& event);
  [[nodiscard]] NextRole handle(const Instant& now, const event::WorkFailed& event);
  [[nodiscard]] NextRole handle(const Instant& now, const event::WorkProgressed& event);
  [[nodiscard]] NextRole handle(const Instant& now, const event::StoreHint& event);
  [[nodiscard]] NextRole handle(const Instant& now, const event::TokenSeen& event);
  [[nodiscard]] NextRole handle(const Instant& now, const ReadAnswer& answer);
  [[nodiscard]] NextRole handle(const Instant& now, const WriteAnswer& answer);
  [[nodiscard]] NextRole checkDeadlines(const Instant& now);
  [[nodiscard]] NextRole advance(const Instant& now);

  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWakeup(const Instant& now) const;
  [[nodiscard]] LeaseState state() const noexcept;
  [[nodiscard]] bool acquisitionOpen() const noexcept { return true; }
  [[nodiscard]] bool inDoubt() const noexcept { return doubts_.told; }

 private:
  /// Why the next renewal may be more than a regular heartbeat.
  struct Doubts {
    Retry retry{};
    bool told{false};                   ///< the work was told
    bool readBack{false};               ///< the next request must be a read
    std::optional<StoreError> cause{};  ///< the error that best explains why renewals fail; empty: the last one did not

    [[nodiscard]] bool any() const noexcept { return retry.failed() || told || readBack; }
  };

  // ---- holder.cpp ----
  [[nodiscard]] std::chrono::nanoseconds rightLeft(const Instant& now) const;
  [[nodiscard]] NextRole expire(const Instant& now);
  [[nodiscard]] NextRole lose(const Instant& now, RevokeReason reason, const std::string& detail,
                              const std::optional<LeaseRecord>* found = nullptr);
  [[nodiscard]] NextRole endTerm(const Instant& now, std::chrono::nanoseconds stillValid,
                                 const std::optional<LeaseRecord>* found = nullptr);
  void beginDrain(const Instant& now, RevokeReason reason, const std::string& detail);
  void announceRevoked(RevokeReason reason, std::string detail, bool unstepped = false);

  // ---- holder_renewal.cpp ----
  [[nodiscard]] NextRole advanceRenewal(const Instant& now);
  [[nodiscard]] NextRole sendRenewal(const Instant& now, std::chrono::nanoseconds timeout);
  [[nodiscard]] bool progressMissing(const Instant& now) const;
  [[nodiscard]] std::string noProgress() const;
  [[nodiscard]] bool renewalFits(const Instant& now) const;
  [[nodiscard]] std::chrono::nanoseconds renewDueIn(const Instant& now) const;
  void renewed(const Instant& now, const UnansweredWrite& proven);
  void renewalFailed(const Instant& now, const StoreError& error);
  [[nodiscard]] NextRole renewalConflict(const Instant& now, const RequestInFlight& request, const Conflict& conflict);
  [[nodiscard]] NextRole judgeOwnRecord(const Instant& now, const Instant& askedAt,
                                        const std::optional<LeaseRecord>& current);
  void renewalLanded(const Instant& now, const Instant& askedAt, const UnansweredWrite& landed);

  MachineCore& core_;
  HeldTerm term_;
  Doubts doubts_{};
  Instant progressAt_{};
  bool draining_{false};
  bool lossHinted_{false};  ///< a notification of the store asks for a renewal
};

}  // namespace tenure
