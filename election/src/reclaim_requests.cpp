#include "reclaim_requests.hpp"

#include <mutex>
#include <optional>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>

#include "lockcore/runtime/user_code.hpp"

namespace tenure {

/// A store answers on any thread, also when the elector is gone. So it only leaves its answer here, for the next look.
struct ReclaimRequests::Answer {
  explicit Answer(std::string leader) : whom{std::move(leader)} {}

  void set(WriteOutcome answered) {
    const std::lock_guard lock{mutex};
    if (!outcome) outcome = std::move(answered);
  }
  [[nodiscard]] std::optional<WriteOutcome> get() const {
    const std::lock_guard lock{mutex};
    return outcome;
  }

  const std::string whom;
  mutable std::mutex mutex;  ///< guards what follows
  std::optional<WriteOutcome> outcome{};
};

ReclaimRequests::ReclaimRequests(Options options, std::weak_ptr<LeaseStore> store, std::weak_ptr<LeaseDriver> driver)
    : options_{std::move(options)}, store_{std::move(store)}, driver_{std::move(driver)} {}

void ReclaimRequests::leaderChanged(const std::optional<LeaderInfo>& leader) {
  const std::shared_ptr<LeaseDriver> driver = driver_.lock();
  if (!driver || looking_ || !options_.rule.concerns(leader)) return;
  looking_ = true;
  // The machine is in a step now, so its status is for later.
  driver->schedule(std::chrono::nanoseconds{0}, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look();
  });
}

void ReclaimRequests::look() {
  looking_ = false;
  takeAnswer();
  const std::shared_ptr<LeaseDriver> driver = driver_.lock();
  if (!driver) return;
  const LeaseStatus status = driver->status();
  if (const auto leader = options_.rule.look(options_.now(), status)) ask(*leader);
  if (status.state != LeaseState::stopped && options_.rule.concerns(status.leader)) lookLater(*driver);
}

void ReclaimRequests::lookLater(LeaseDriver& driver) {
  looking_ = driver.schedule(options_.period, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look();
  });
}

void ReclaimRequests::ask(const LeaderInfo& leader) {
  const std::shared_ptr<LeaseStore> store = store_.lock();
  if (!store) return;
  const std::string whom = personOf(leader.holder) + ", which states priority " + std::to_string(leader.priority);
  awaited_ = std::make_shared<Answer>(whom);
  options_.log(LogLevel::info, "asks " + whom + ", to step down, because this candidate has a better one");
  const auto error = storeErrorOf([&] {
    store->requestStepDown(options_.key, {leader.token}, {options_.period},
                           [answer = awaited_](WriteOutcome outcome) { answer->set(std::move(outcome)); });
  });
  if (error) awaited_->set(Unknown{*error});
}

/// A conflict means that the term has ended, so there is nobody to ask any more.
void ReclaimRequests::takeAnswer() {
  const std::optional<WriteOutcome> outcome = awaited_ ? awaited_->get() : std::nullopt;
  if (!outcome) return;
  const std::string whom = std::exchange(awaited_, nullptr)->whom;
  const StoreError* error = nullptr;
  if (const auto* rejected = std::get_if<Rejected>(&*outcome)) error = &rejected->error;
  if (const auto* unknown = std::get_if<Unknown>(&*outcome)) error = &unknown->error;
  if (error == nullptr) return;
  options_.rule.failed();
  options_.log(LogLevel::warn,
               "could not ask " + whom + ", to step down, and tries again while it leads: " + error->message);
}

}  // namespace tenure
