#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <tenure/election/elector_view.hpp>

#include "elector_impl.hpp"
#include "lockcore/driver/lease_account.hpp"
#include "lockcore/driver/lease_driver.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/user_code.hpp"
#include "shards_board.hpp"

namespace tenure {

/// What the views of an elector share. It holds neither the elector nor its store. Constant.
struct ElectorView::Parts {
  std::string group;
  std::string candidate;
  std::string store;
  std::chrono::milliseconds leaseDuration{0};
  bool observes{false};
  std::shared_ptr<const TermCell> cell;
  std::shared_ptr<const Clock> clock;
  std::weak_ptr<LeaseDriver> driver;  ///< gone when the elector is gone
  std::shared_ptr<LeaseAccount> account;
  std::shared_ptr<const DocumentWrites> documents;  ///< null: the lease's data have another use
  ProcessMark mark{};
};

ElectorView ElectorImpl::view(const ElectorView& continues) {
  const std::lock_guard lock{mutex_};
  if (view_) return view_;
  auto account = continues ? continues.parts_->account : std::make_shared<LeaseAccount>();
  driver_->countIn(account);
  if (part_.data.empty() && phase_ == Phase::fresh) {
    const auto before = continues ? continues.parts_->documents : nullptr;
    documents_ = std::make_shared<DocumentWrites>(key_, context_->logger, group_.store(), driver_,
                                                  before ? before->left(key_) : DocumentWrites::Origin{});
  }
  view_ = viewOn(std::move(account));
  return view_;
}

ElectorView ElectorImpl::viewInChild() const { return viewOn(std::make_shared<LeaseAccount>()); }

ElectorView ElectorImpl::viewOn(std::shared_ptr<LeaseAccount> account) const {
  std::string store = isHere() ? nameOfStore(*group_.store()) : std::string{};  // a store may have locks of its own
  return ElectorView{std::make_shared<const ElectorView::Parts>(
      ElectorView::Parts{group_.name(), candidate(), std::move(store), group_.timing().duration(), observes(), cell_,
                         context_->clock, driver_, std::move(account), documents_, context_->mark})};
}

const std::string& ElectorView::group() const noexcept { return parts_->group; }
const std::string& ElectorView::candidate() const noexcept { return parts_->candidate; }
const std::string& ElectorView::store() const noexcept { return parts_->store; }
std::chrono::milliseconds ElectorView::leaseDuration() const noexcept { return parts_->leaseDuration; }
bool ElectorView::observes() const noexcept { return parts_->observes; }

LeaderStanding ElectorView::standing() const noexcept {
  if (!parts_->mark.isHere()) return {};
  const TermState state = parts_->cell->load();
  const Instant now = parts_->clock->now();  // read after the state, so that a pause in between shows
  if (!state.leadsAt(now)) return {};
  return {true, state.token, state.remainingAt(now)};
}

std::optional<LeaseStatus> ElectorView::tryStatus() const {
  const std::shared_ptr<LeaseDriver> driver = parts_->driver.lock();
  return driver ? driver->tryStatus() : LeaseStatus{LeaseState::stopped};
}

LeaseCounts ElectorView::counts() const noexcept { return parts_->account->counts(parts_->clock->now()); }
std::vector<TermEvent> ElectorView::events() const { return parts_->account->events(); }
std::int64_t ElectorView::electedAtMillis() const noexcept { return parts_->account->electedAtMillis(); }
std::chrono::nanoseconds ElectorView::overdue() const noexcept {
  const std::shared_ptr<LeaseDriver> driver = parts_->driver.lock();
  const bool ended = !driver || driver->isClosed();
  return ended ? std::chrono::nanoseconds{0} : parts_->account->overdue(parts_->clock->now());
}

const std::string& ShardsView::group() const noexcept { return board_->group(); }
std::optional<std::vector<ElectorView>> ShardsView::tryElectors() const { return board_->tryElectors(); }
bool ShardsView::competes() const noexcept { return board_->competes(); }

}  // namespace tenure
