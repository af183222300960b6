#include "sharded_impl.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds longestInterval{500};

nanoseconds intervalOf(const Group& group) {
  return group.options().shards.listInterval.value_or(std::min(group.timing().heartbeat(), longestInterval));
}

std::shared_ptr<RandomSource> sharedOrSystem(std::unique_ptr<RandomSource> random) {
  if (random) return random;
  return std::make_shared<SystemRandom>();
}

/// The worse of the two results.
ReleaseResult worse(ReleaseResult a, ReleaseResult b) {
  constexpr std::array order{ReleaseResult::notHeld, ReleaseResult::released, ReleaseResult::unknown,
                             ReleaseResult::notDrained};
  return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b) ? b : a;
}

}  // namespace

ShardedElector::Impl::Impl(Group group, ShardListener listener, Runtime runtime, std::shared_ptr<Scheduler> scheduler)
    : group_{std::move(group)},
      logger_{group_.logger()},
      names_{group_.options().shards.shardNames()},
      listener_{std::make_shared<const ShardListener>(std::move(listener))},
      executor_{std::move(runtime.executor)},
      clock_{scheduler->clock()},
      link_{std::make_shared<SchedulerLink>(std::move(scheduler))},
      random_{sharedOrSystem(std::move(runtime.random))},
      candidate_{newCandidate(group_.options().candidate.id, *random_)},
      interval_{intervalOf(group_)},
      context_{CandidateContext::make(group_.store(), link_->scheduler(), logger_, {}, executor_, group_.name())},
      stopLane_{std::make_shared<CallbackLane>(context_->executor)},
      watch_{ShardKeys{group_.name(), extended(group_.store())->keepsGroupsTogether()}, names_, candidate_,
             2 * interval_},
      balance_{{candidate_, 2 * interval_, group_.timing().duration()}} {
  if (names_.empty()) {
    throw std::invalid_argument{"ShardedElector: group " + group_.name() +
                                " has no shards; give shards.count or shards.names, or use LeaderElector"};
  }
}

/// One lease of the group as a group of its own. No candidate waits for a preferred one, because it was decided before
/// who takes a free shard.
Group ShardedElector::Impl::groupOf(const std::string& part) const {
  GroupOptions options = group_.options();
  options.group = watch_.keys().nameOf(part);  // which fences know it by
  options.shards = {};
  options.candidate.priority = 0;
  if (ShardWatch::slotOf(part)) {  // it shows that the candidate is there, and has no work that may hang or go on
    options.onLost = OnLost::callback;
    options.lease.progressTimeout.reset();
  }
  return Group::make(std::move(options), group_.store(), logger_).value();
}

Listener ShardedElector::Impl::listenerOf(std::size_t shard) const {
  Listener out;
  const Shard which{shard, names_[shard]};
  const auto& all = listener_;
  if (all->onShardElected) out.onElected = [all, which](const Leadership& term) { all->onShardElected(which, term); };
  if (all->onShardRevoked) out.onRevoked = [all, which](const TermEnd& why) { all->onShardRevoked(which, why); };
  if (all->onShardInDoubt) out.onInDoubt = [all, which](const Doubt& doubt) { all->onShardInDoubt(which, doubt); };
  return out;
}

ShardedElector::Impl::~Impl() { board_->clear(); }

ShardsView ShardedElector::Impl::view() {
  isViewed_ = true;
  return ShardsView{board_};
}

void ShardedElector::Impl::start() {
  {
    const std::lock_guard lock{mutex_};
    if (phase_ == Phase::stopping)
      throw std::logic_error("ShardedElector: it was stopped; make a new one to start again");
    if (std::exchange(phase_, Phase::started) == Phase::started) return;
  }
  log(LogLevel::info,
      candidate_ + " competes for " + std::to_string(names_.size()) + " shards on " + nameOfStore(*group_.store()));
  link_->post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look();
  });
}

void ShardedElector::Impl::requestStop(StopDone done) {
  Phase before{};
  {
    const std::lock_guard lock{mutex_};
    before = std::exchange(phase_, Phase::stopping);
    if (before == Phase::fresh) result_ = ReleaseResult::notHeld;  // nothing was begun
    if (done) stopWaits_.push_back(std::move(done));
  }
  if (before != Phase::started) return answerStops();
  link_->post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->beginStop();
  });
}

/// The slot is given up first, so that no member leaves a shard to a candidate that takes no more.
void ShardedElector::Impl::beginStop() {
  log(LogLevel::info, "leaves with " + std::to_string(own(clock_->now()).led.size()) + " shards");
  followed_.clear();
  board_->competes(false);
  if (slot_) slot_->elector->requestStop();
  for (const CandidacyPtr& candidacy : left_) candidacy->elector->requestStop();
  for (const auto& [shard, candidacy] : candidacies_) candidacy->elector->requestStop();
  checkEnded();
}

void ShardedElector::Impl::checkEnded() {
  std::unique_lock lock{mutex_};
  if (phase_ != Phase::stopping || result_) return;
  if (slot_ && !slot_->result) return;
  ReleaseResult result = ReleaseResult::notHeld;
  for (const auto& [shard, candidacy] : candidacies_) {
    if (!candidacy->result) return;
    result = worse(result, *candidacy->result);
  }
  result_ = result;
  answering_ = true;
  const bool abandoned = abandoned_;
  lock.unlock();
  answerStops();
  lock.lock();
  answering_ = false;
  ended_.notify_all();
  lock.unlock();
  if (abandoned) letGo();
}

void ShardedElector::Impl::answerStops(std::optional<ReleaseResult> orElse) {
  std::vector<StopDone> waiting;
  {
    const std::lock_guard lock{mutex_};
    if (result_) orElse = result_;
    if (orElse) waiting.swap(stopWaits_);
  }
  if (orElse) answerStop(std::move(waiting), *orElse, *stopLane_);
}

/// This runs on the scheduler, where nothing waits for callbacks, and not inside an elector's own notice.
void ShardedElector::Impl::letGo() {
  link_->post([self = shared_from_this()] {
    for (const CandidacyPtr& candidacy : self->candidacies()) candidacy->elector->abandon();
    self->link_->close();
  });
}

/// The scheduler keeps this until everything has ended, by the candidacies that are there once the end has begun.
void ShardedElector::Impl::keep() {
  link_->post([self = shared_from_this(), patience = patienceOfStop(group_.timing())] {
    for (const CandidacyPtr& candidacy : self->candidacies()) candidacy->elector->keep(self, patience);
  });
}

bool ShardedElector::Impl::awaitEnd(const Patience& patience) {
  std::unique_lock lock{mutex_};
  return ended_.wait_for(lock, patience.left(), [this] { return result_ && !answering_; });
}

ReleaseResult ShardedElector::Impl::stop() {
  const Patience patience = patienceOfStop(group_.timing());
  requestStop();
  if (isInside() || !awaitEnd(patience)) return ReleaseResult::unknown;
  const std::lock_guard lock{mutex_};
  return *result_;
}

std::vector<ShardedElector::Impl::CandidacyPtr> ShardedElector::Impl::candidacies() const {
  const std::lock_guard lock{mutex_};
  std::vector<CandidacyPtr> all{left_};
  if (slot_) all.push_back(slot_);
  for (const auto& [shard, candidacy] : candidacies_) all.push_back(candidacy);
  return all;
}

/// True where waiting would wait for the caller itself.
bool ShardedElector::Impl::isInside() const {
  if (link_->isCurrent() || stopLane_->isCurrent()) return true;
  const std::vector<CandidacyPtr> all = candidacies();
  return std::any_of(all.begin(), all.end(),
                     [](const CandidacyPtr& candidacy) { return candidacy->elector->mustNotBlock(); });
}

void ShardedElector::Impl::abandon() {
  if (isInside()) {
    std::unique_lock lock{mutex_};
    const bool ended = result_ || phase_ == Phase::fresh;
    abandoned_ = !ended;
    lock.unlock();
    requestStop();
    return ended ? letGo() : keep();
  }
  const Patience patience = patienceOfStop(group_.timing());
  requestStop();
  static_cast<void>(awaitEnd(patience));  // if the scheduler stands still, each elector ends its own term below
  std::vector<std::shared_ptr<Elector>> electors;
  for (const CandidacyPtr& candidacy : candidacies()) electors.push_back(candidacy->elector);
  Elector::abandonAll(electors, patience);
  answerStops(ReleaseResult::unknown);
  stopLane_->waitIdle(patience.left());
  link_->close();
}

bool ShardedElector::Impl::owns(std::size_t shard) const {
  if (!isHere()) return false;
  const std::lock_guard lock{mutex_};
  const auto found = candidacies_.find(shard);
  return found != candidacies_.end() && found->second->elector->termState().leadsAt(clock_->now());
}

std::vector<OwnedShard> ShardedElector::Impl::owned() const {
  std::vector<OwnedShard> out;
  if (!isHere()) return out;
  const std::lock_guard lock{mutex_};
  for (const auto& [shard, candidacy] : candidacies_) {
    const TermState term = candidacy->elector->termState();
    if (term.leadsAt(clock_->now())) out.push_back({{shard, names_[shard]}, term.token});
  }
  return out;
}

ShardedStatus ShardedElector::Impl::status() const {
  ShardedStatus status{group_.name(), candidate_, {}};
  status.shards = names_.size();
  if (!isHere()) return status;
  status.store = nameOfStore(*group_.store());
  status.owned = owned();
  const std::lock_guard lock{mutex_};
  status.unowned = unowned_;
  status.members = members_;
  if (listedAt_) status.listedAgo = std::max(elapsedForHolder(*listedAt_, clock_->now()), nanoseconds{0});
  status.lastError = lastError_;
  return status;
}

}  // namespace tenure
