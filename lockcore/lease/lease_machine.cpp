#include "lease_machine.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "challenger.hpp"
#include "holder.hpp"
#include "machine_core.hpp"
#include "next_role.hpp"
#include "releaser.hpp"

namespace tenure {

/// The role of a machine that was not started yet, and that of a machine whose candidacy is over: it ignores every
/// event and waits for nothing.
class Inactive {
 public:
  template <class Event>
  [[nodiscard]] NextRole handle(const Instant& /*now*/, const Event& /*event*/) noexcept {
    return {};
  }
  [[nodiscard]] NextRole checkDeadlines(const Instant& /*now*/) noexcept { return {}; }
  [[nodiscard]] NextRole advance(const Instant& /*now*/) noexcept { return {}; }

  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWakeup(const Instant& /*now*/) const noexcept {
    return std::nullopt;
  }
  [[nodiscard]] bool acquisitionOpen() const noexcept { return false; }
  [[nodiscard]] bool inDoubt() const noexcept { return false; }
};

/// Start is handled by the machine itself.
class Idle : public Inactive {
 public:
  using Inactive::handle;
  [[nodiscard]] NextRole handle(const Instant& /*now*/, const event::Stop& /*event*/) {
    return {next::Stop{ReleaseResult::notHeld}};
  }
  [[nodiscard]] LeaseState state() const noexcept { return LeaseState::idle; }
};

class Over : public Inactive {
 public:
  [[nodiscard]] LeaseState state() const noexcept { return LeaseState::stopped; }
};

/// One role at a time, and the only place where one role is replaced by another.
class LeaseMachine::Impl {
 public:
  Impl(MachineOptions options, RandomSource& random) : core_{std::move(options), random} {}
  Impl(const Impl&) = delete;  // roles refer to the core
  Impl& operator=(const Impl&) = delete;

  LeaseActions step(const Instant& now, const LeaseEvent& event);
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWakeup(const Instant& now) const;

  [[nodiscard]] const MachineCore& core() const noexcept { return core_; }
  [[nodiscard]] LeaseState state() const noexcept;
  [[nodiscard]] bool acquisitionOpen() const noexcept;
  [[nodiscard]] bool inDoubt() const noexcept;
  [[nodiscard]] std::chrono::nanoseconds cooldown(const Instant& now) const;

 private:
  // Events and parts of events that concern the machine as a whole; the role handles the rest.
  void handle(const Instant& now, const event::Start& event);
  void handle(const Instant& now, const event::SetReady& event);
  void handle(const Instant& now, const event::Stop& event);
  void handle(const Instant& now, const event::Release& event);
  void handle(const Instant& now, const event::Renew& event);
  void handle(const Instant& now, const event::WorkEnded& event);
  void handle(const Instant& now, const event::WorkFailed& event);
  void handle(const Instant& now, const event::ReadReply& event);
  void handle(const Instant& now, const event::WriteReply& event);
  void handle(const Instant& now, const event::HolderProvenDead& event);
  void handle(const Instant& now, const event::TokenSeen& event);
  template <class Event>
  void handle(const Instant& now, const Event& event) {
    deliver(now, event);
  }

  template <class Event>
  void deliver(const Instant& now, const Event& event);
  void checkDeadlines(const Instant& now);
  void giveUpOverdueRequest(const Instant& now);
  void advance(const Instant& now);
  void refuseReport(FencingToken token);

  void install(const Instant& now, NextRole next);
  void enter(const Instant& /*now*/, next::Stay&& /*next*/) {}
  void enter(const Instant& now, next::Challenge&& next);
  void enter(const Instant& now, next::Lead&& next);
  void enter(const Instant& now, next::Release&& next);
  void enter(const Instant& now, next::Stop&& next);

  MachineCore core_;
  std::variant<Idle, Challenger, Holder, Releaser, Over> role_{};
};

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

LeaseActions LeaseMachine::Impl::step(const Instant& now, const LeaseEvent& event) {
  core_.actions.clear();
  checkDeadlines(now);
  std::visit([&](const auto& e) { handle(now, e); }, event);
  advance(now);
  core_.lastStep = now;
  return std::exchange(core_.actions, {});
}

/// Deadlines are checked before any event is handled, so that a success that arrives late cannot revive a term (I2,
/// I4).
void LeaseMachine::Impl::checkDeadlines(const Instant& now) {
  install(now, std::visit([&](auto& role) { return role.checkDeadlines(now); }, role_));
  giveUpOverdueRequest(now);
}

/// A store that does not keep its own deadline must not delay a lease: the request counts as unanswered.
void LeaseMachine::Impl::giveUpOverdueRequest(const Instant& now) {
  if (!core_.inFlight || core_.inFlight->overdueIn(now) > nanoseconds{0}) return;
  const RequestInFlight& request = *core_.inFlight;
  const Attempt attempt = request.attempt;
  const StoreError error{ErrorClass::transient, "the store did not answer within " +
                                                    std::to_string(request.timeout / milliseconds{1}) + " ms"};
  if (request.kind == RequestKind::read) {
    handle(now, event::ReadReply{attempt, error});
  } else {
    handle(now, event::WriteReply{attempt, Unknown{error}});
  }
}

template <class Event>
void LeaseMachine::Impl::deliver(const Instant& now, const Event& event) {
  install(now, std::visit([&](auto& role) { return role.handle(now, event); }, role_));
}

void LeaseMachine::Impl::advance(const Instant& now) {
  bool again = true;
  while (again) {
    NextRole next = std::visit([&](auto& role) { return role.advance(now); }, role_);
    again = next.actsAtOnce;
    install(now, std::move(next));
  }
}

/// Called with the role's answer after the role's own call has returned: this may destroy the role.
void LeaseMachine::Impl::install(const Instant& now, NextRole next) {
  std::visit([&](auto& role) { enter(now, std::move(role)); }, next.role);
}

void LeaseMachine::Impl::enter(const Instant& now, next::Challenge&& next) {
  auto& challenger = role_.emplace<Challenger>(core_);
  challenger.enter(now, next.cooldown);
  if (next.found != nullptr) challenger.see(now, *next.found, false);
}

void LeaseMachine::Impl::enter(const Instant& now, next::Lead&& next) {
  role_.emplace<Holder>(core_, std::move(next.term)).enter(now, std::move(next.payload), std::move(next.origin));
}

void LeaseMachine::Impl::enter(const Instant& now, next::Release&& next) {
  role_.emplace<Releaser>(core_, std::move(next.term)).enter(now);
}

void LeaseMachine::Impl::enter(const Instant& /*now*/, next::Stop&& next) {
  role_.emplace<Over>();
  core_.inFlight.reset();
  core_.act(action::FollowHolder{std::nullopt});
  core_.act(action::Stopped{next.result, core_.options.oneTerm ? core_.memory() : nullptr});
}

void LeaseMachine::Impl::handle(const Instant& now, const event::Start& event) {
  if (state() != LeaseState::idle) return;
  if (event.livenessFile) core_.livenessFile = std::make_unique<const LivenessFile>(*event.livenessFile);
  core_.candidacy.start(now, event.waited);
  role_.emplace<Challenger>(core_).start(now, event);
}

void LeaseMachine::Impl::handle(const Instant& now, const event::SetReady& event) {
  core_.ready = event.ready;
  deliver(now, event);
}

void LeaseMachine::Impl::handle(const Instant& now, const event::Stop& event) {
  if (core_.stopping) return;
  core_.stopping = true;
  deliver(now, event);
}

void LeaseMachine::Impl::handle(const Instant& now, const event::Release& event) {
  core_.changes.ask(event);
  core_.removes = event.removes;
  handle(now, event::Stop{});
  handle(now, event::WorkEnded{});
}

void LeaseMachine::Impl::handle(const Instant& now, const event::Renew& event) {
  deliver(now, event);
  const bool refused = core_.changes.ticket() < event.ticket;
  if (refused) core_.act(action::Recorded{event.ticket, event.ticket, action::Recorded::Outcome::unknown});
}

void LeaseMachine::Impl::handle(const Instant& now, const event::WorkEnded& event) {
  if (state() != LeaseState::leading) core_.work.running = false;
  core_.work.blocked = false;
  deliver(now, event);
}

void LeaseMachine::Impl::handle(const Instant& now, const event::WorkFailed& event) {
  if (!event.begun && !std::exchange(core_.work.running, false)) return;
  if (!event.begun) {
    core_.work.blocked = true;
    core_.noteError(now, {ErrorClass::transient, event.what});
  }
  deliver(now, event);
}

void LeaseMachine::Impl::handle(const Instant& now, const event::ReadReply& event) {
  if (auto request = core_.takeRead(event.attempt)) deliver(now, ReadAnswer{*std::move(request), event.outcome});
}

void LeaseMachine::Impl::handle(const Instant& now, const event::WriteReply& event) {
  auto request = core_.takeWrite(event.attempt, event.outcome);
  if (request) deliver(now, WriteAnswer{*std::move(request), event.outcome});
}

void LeaseMachine::Impl::handle(const Instant& now, const event::HolderProvenDead& event) {
  core_.known.observation.provenDead(now, event.livenessFileId);
}

void LeaseMachine::Impl::handle(const Instant& now, const event::TokenSeen& event) {
  if (state() == LeaseState::stopped) return;
  if (event.token > core_.tokens.highestBelievable()) return refuseReport(event.token);
  core_.tokens.floor = std::max(core_.tokens.floor, event.token);
  deliver(now, event);
}

/// Logged once for each higher token: a resource may refuse every write of a leader.
void LeaseMachine::Impl::refuseReport(FencingToken token) {
  if (token <= core_.tokens.refused) return;
  core_.tokens.refused = token;
  core_.log(
      LogLevel::error,
      "a resource of lease " + toString(core_.options.key) + " reports the fencing token " + toString(token) +
          ", and the highest that the store has shown is " + toString(core_.tokens.known) +
          ". Tokens do not rise so far at once, so this leader does not believe the report and keeps the lease. But "
          "that resource refuses its writes: find out what wrote that token there, then correct what the "
          "resource remembers with `tenure fence recover`");
}

std::optional<nanoseconds> LeaseMachine::Impl::untilWakeup(const Instant& now) const {
  std::optional<nanoseconds> until = std::visit([&](const auto& role) { return role.untilWakeup(now); }, role_);
  if (core_.inFlight) until = earlier(until, core_.inFlight->overdueIn(now));
  if (until) until = std::max(*until, nanoseconds{0});
  return until;
}

LeaseState LeaseMachine::Impl::state() const noexcept {
  return std::visit([](const auto& role) { return role.state(); }, role_);
}

bool LeaseMachine::Impl::acquisitionOpen() const noexcept {
  return std::visit([](const auto& role) { return role.acquisitionOpen(); }, role_);
}

bool LeaseMachine::Impl::inDoubt() const noexcept {
  return std::visit([](const auto& role) { return role.inDoubt(); }, role_);
}

nanoseconds LeaseMachine::Impl::cooldown(const Instant& now) const {
  const auto* challenger = std::get_if<Challenger>(&role_);
  return challenger == nullptr ? nanoseconds{0} : challenger->cooldownLeft(now);
}

LeaseMachine::LeaseMachine(MachineOptions options, RandomSource& random)
    : impl_{std::make_unique<Impl>(std::move(options), random)} {}
LeaseMachine::~LeaseMachine() = default;
LeaseMachine::LeaseMachine(LeaseMachine&&) noexcept = default;
LeaseMachine& LeaseMachine::operator=(LeaseMachine&&) noexcept = default;

LeaseActions LeaseMachine::step(const Instant& now, const LeaseEvent& event) { return impl_->step(now, event); }
std::optional<nanoseconds> LeaseMachine::untilWakeup(const Instant& now) const { return impl_->untilWakeup(now); }
bool LeaseMachine::acquisitionOpen() const noexcept { return impl_->acquisitionOpen(); }
const LeaseKey& LeaseMachine::key() const noexcept { return impl_->core().options.key; }
LeaseState LeaseMachine::state() const noexcept { return impl_->state(); }
TermState LeaseMachine::term() const noexcept { return impl_->core().told.term; }
bool LeaseMachine::workRunning() const noexcept { return impl_->core().work.running; }
bool LeaseMachine::inDoubt() const noexcept { return impl_->inDoubt(); }
bool LeaseMachine::isReady() const noexcept { return impl_->core().ready; }
nanoseconds LeaseMachine::cooldown(const Instant& now) const { return impl_->cooldown(now); }
const std::optional<LeaderInfo>& LeaseMachine::leader() const noexcept { return impl_->core().told.leader; }
std::optional<Instant> LeaseMachine::leaderSeenAt() const noexcept { return impl_->core().told.leaderSeenAt; }
bool LeaseMachine::leaderRenews() const noexcept { return impl_->core().told.leaderRenews; }
const std::optional<StoreError>& LeaseMachine::lastError() const noexcept { return impl_->core().told.error; }
std::optional<Instant> LeaseMachine::lastErrorAt() const noexcept { return impl_->core().told.errorAt; }
std::uint64_t LeaseMachine::terms() const noexcept { return impl_->core().told.terms; }
nanoseconds LeaseMachine::heartbeatLag() const noexcept { return impl_->core().told.heartbeatLag; }
nanoseconds LeaseMachine::worstHeartbeatLag() const noexcept { return impl_->core().told.worstHeartbeatLag; }

}  // namespace tenure
