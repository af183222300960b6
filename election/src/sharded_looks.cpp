// What a sharded elector sees in each listing, and what it does about it. All on the scheduler.
#include <algorithm>
#include <utility>

#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/user_code.hpp"
#include "sharded_impl.hpp"

namespace tenure {
namespace {

using std::chrono::nanoseconds;

/// The electors of one group draw from one source, on the scheduler.
class SharedRandom final : public RandomSource {
 public:
  explicit SharedRandom(std::shared_ptr<RandomSource> source) : source_{std::move(source)} {}
  std::uint64_t next() override { return source_->next(); }

 private:
  const std::shared_ptr<RandomSource> source_;
};

}  // namespace

void ShardedElector::Impl::look() {
  {
    const std::lock_guard lock{mutex_};
    if (phase_ != Phase::started) return;
  }
  const std::shared_ptr<Scheduler> scheduler = link_->scheduler();
  if (!scheduler) return;
  sweep();
  // Candidates that started together must not list together for ever.
  const nanoseconds next = interval_ - interval_ / 10 + uniform(*random_, interval_ / 5);
  scheduler->schedule(next, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look();
  });
  list();
}

void ShardedElector::Impl::list() {
  const nanoseconds timeout = group_.timing().heartbeat();
  // A store that does not keep its own deadline must not stop this candidate's listings for good.
  const bool underWay = listingSince_ && elapsedForHolder(*listingSince_, clock_->now()) < 2 * timeout;
  if (!slot_) keepSlot(clock_->now());  // its elector creates the schema, which a listing needs
  if (underWay) return;
  listingSince_ = clock_->now();
  const auto answer = [link = link_, weak = weak_from_this(), listing = ++listing_](ListOutcome outcome) {
    link->post([weak, listing, outcome = readable(std::move(outcome))] {
      if (const auto self = weak.lock()) self->listed(listing, outcome);
    });
  };
  const auto error = storeErrorOf([&] { watch_.keys().list(*group_.store(), {timeout}, answer); });
  if (error) answer(*error);
}

void ShardedElector::Impl::listed(std::uint64_t listing, const ListOutcome& outcome) {
  if (listing != listing_) return;
  listingSince_.reset();
  {
    const std::lock_guard lock{mutex_};
    if (phase_ != Phase::started) return;
  }
  if (!outcome) return lookFailed(outcome.error());
  watched_ = true;
  board_->competes(true);
  const Instant now = clock_->now();
  watch_.saw(now, *outcome);
  act(now);
}

/// Nothing is given up and nothing is taken because of an older listing. Shards that are led are renewed as usual.
void ShardedElector::Impl::lookFailed(const StoreError& error) {
  log(std::exchange(watched_, false) ? LogLevel::warn : LogLevel::debug,
      "cannot see who holds which shard" + std::string{whatHappensNext(error)} + error.message);
  const std::lock_guard lock{mutex_};
  lastError_ = error;
}

OwnShards ShardedElector::Impl::own(const Instant& now) {
  OwnShards out;
  std::vector<std::pair<std::uint64_t, std::size_t>> led;
  for (const auto& [shard, candidacy] : candidacies_) {
    if (candidacy->state == Candidacy::State::led) led.emplace_back(candidacy->won, shard);
    if (candidacy->state == Candidacy::State::contested) out.contested.push_back(shard);
    if (candidacy->state == Candidacy::State::contested && candidacy->elector->isAcquiring())
      out.acquiring.push_back(shard);
    if (candidacy->state == Candidacy::State::ending) out.avoided.push_back(shard);
  }
  std::sort(led.begin(), led.end());
  for (const auto& [won, shard] : led) out.led.push_back(shard);
  // For longer than the others leave the shard to this candidate.
  const nanoseconds avoids = std::max<nanoseconds>(group_.timing().duration(), 4 * ShardBalance::patience * interval_);
  for (auto it = avoided_.begin(); it != avoided_.end();) {
    const bool over = elapsedForHolder(it->second, now) >= avoids;
    if (!over) out.avoided.push_back(it->first);
    it = over ? avoided_.erase(it) : std::next(it);
  }
  return out;
}

void ShardedElector::Impl::act(const Instant& now) {
  keepSlot(now);
  clearSlots(now);
  followLivenessFiles(now);
  const ShardPicture picture = watch_.picture(now);
  ShardMoves moves = balance_.look(now, picture, own(now), *random_);
  for (const std::size_t shard : moves.withdraw) end(*candidacies_.at(shard));
  for (const std::size_t shard : moves.give) {
    log(LogLevel::info, "gives shard " + names_[shard] + " up for another member");
    end(*candidacies_.at(shard), "another member has fewer shards");
  }
  for (const std::size_t shard : moves.take) {
    CandidacyPtr candidacy = competeFor(names_[shard], listenerOf(shard), {});
    if (isViewed_) board_->competes(shard, candidacy->elector->view(board_->last(shard)));
    {
      const std::lock_guard lock{mutex_};
      candidacies_.emplace(shard, candidacy);
    }
    candidacy->elector->start(watch_.sighting(watch_.shardKey(shard)));
  }
  publish(now, picture);
}

void ShardedElector::Impl::publish(const Instant& now, const ShardPicture& picture) {
  std::vector<std::string> members;
  for (const ShardMember& member : picture.members) members.push_back(member.id);
  std::sort(members.begin(), members.end());
  if (members != members_) log(LogLevel::info, std::to_string(members.size()) + " members are present");
  const auto unowned = std::count(picture.holders.begin(), picture.holders.end(), std::string{});
  const std::lock_guard lock{mutex_};
  members_ = std::move(members);
  unowned_ = static_cast<std::size_t>(unowned);
  listedAt_ = now;
}

ShardedElector::Impl::CandidacyPtr ShardedElector::Impl::competeFor(const std::string& part, Listener listener,
                                                                    std::string data) {
  CandidacyPtr candidacy = std::make_shared<Candidacy>();
  ElectorPart role{candidate_, std::move(data),
                   [weak = weak_from_this(), weakCandidacy = std::weak_ptr{candidacy}](const LeaseNotice& notice) {
                     const auto self = weak.lock();
                     const auto of = weakCandidacy.lock();
                     if (self && of) self->noticed(of, notice);
                   },
                   watch_.keys().keyOf(part)};
  Runtime runtime{link_->scheduler(), executor_, std::make_unique<SharedRandom>(random_)};
  candidacy->elector = Elector::make(groupOf(part), std::move(listener), std::move(runtime), std::move(role));
  return candidacy;
}

/// Each candidate must hold one slot. If another candidate was quicker, it tries another slot.
void ShardedElector::Impl::keepSlot(const Instant& now) {
  const bool mustMove = slot_ && slot_->state != Candidacy::State::led && watch_.slotTaken(now, slotNumber_);
  const bool ended = slot_ && slot_->state == Candidacy::State::ending;
  if (slot_ && !mustMove && !ended) return;
  if (slot_) end(*slot_);
  slotNumber_ = watch_.freeSlot(now, slot_ ? std::optional{slotNumber_} : std::nullopt, *random_);
  CandidacyPtr candidacy = competeForSlot(slotNumber_);
  {
    const std::lock_guard lock{mutex_};
    if (slot_) left_.push_back(slot_);
    slot_ = candidacy;
  }
  candidacy->elector->start(watch_.sighting(watch_.slotKey(slotNumber_)));
}

/// Releases the slots that dead members left. A candidate that has just joined would take these for members until it
/// had itself watched their leases run out, and would leave shards to them meanwhile.
void ShardedElector::Impl::clearSlots(const Instant& now) {
  for (const CandidacyPtr& candidacy : left_) {
    if (candidacy->clears && candidacy->state == Candidacy::State::contested)
      end(*candidacy);  // another holds it, or has cleared it
  }
  for (const std::size_t slot : watch_.abandonedSlots(now)) {
    // All members see the same, and one of them is enough.
    if (random_->next() % std::max<std::size_t>(1, members_.size()) != 0) continue;
    CandidacyPtr candidacy = competeForSlot(slot);
    candidacy->clears = true;
    {
      const std::lock_guard lock{mutex_};
      left_.push_back(candidacy);
    }
    candidacy->elector->start(watch_.sighting(watch_.slotKey(slot)));
  }
}

ShardedElector::Impl::CandidacyPtr ShardedElector::Impl::competeForSlot(std::size_t number) {
  const auto& limit = group_.options().shards.maxLeases;
  const std::size_t maxLeases = limit ? std::size_t{*limit} : ShardMember::unlimited;
  return competeFor(ShardWatch::slotPart(number), {},
                    ShardWatch::describe(maxLeases, group_.options().candidate.priority));
}

void ShardedElector::Impl::noticed(const CandidacyPtr& candidacy, const LeaseNotice& notice) {
  const auto mark = [&](Candidacy::State state) {
    const std::lock_guard lock{mutex_};
    if (candidacy->state != Candidacy::State::ending) candidacy->state = state;
  };
  if (std::holds_alternative<action::Elected>(notice)) {
    candidacy->won = ++wins_;
    mark(Candidacy::State::led);
    if (candidacy->clears && candidacy->state == Candidacy::State::led) end(*candidacy);
  } else if (const auto* revoked = std::get_if<action::Revoked>(&notice)) {
    // Somebody asked for it, or the work failed or cannot begin here: another candidate should get it.
    const bool meant = revoked->reason == RevokeReason::steppedDown || revoked->reason == RevokeReason::fatal ||
                       revoked->reason == RevokeReason::notStarted;
    mark(Candidacy::State::contested);
    if (!meant || candidacy->state == Candidacy::State::ending) return;
    for (const auto& [shard, other] : candidacies_) {
      if (other == candidacy) avoided_.insert_or_assign(shard, clock_->now());
    }
    end(*candidacy);
  } else if (const auto* stopped = std::get_if<action::Stopped>(&notice)) {
    {
      const std::lock_guard lock{mutex_};
      candidacy->result = stopped->result;
    }
    checkEnded();
  }
}

void ShardedElector::Impl::end(Candidacy& candidacy, const std::string& why) {
  {
    const std::lock_guard lock{mutex_};
    candidacy.state = Candidacy::State::ending;
  }
  candidacy.elector->stepDown(why);  // this is the reported reason, if it leads
  candidacy.elector->requestStop();
}

/// Removes candidacies that have ended and whose callbacks have returned.
void ShardedElector::Impl::sweep() {
  const auto isOver = [](const CandidacyPtr& candidacy) { return candidacy->result && candidacy->elector->isIdle(); };
  std::vector<CandidacyPtr> over;
  std::vector<std::size_t> shards;
  {
    const std::lock_guard lock{mutex_};
    for (auto it = candidacies_.begin(); it != candidacies_.end();) {
      const bool gone = isOver(it->second);
      if (gone) {
        over.push_back(it->second);
        shards.push_back(it->first);
      }
      it = gone ? candidacies_.erase(it) : std::next(it);
    }
    const auto kept = std::stable_partition(left_.begin(), left_.end(), [&](const auto& s) { return !isOver(s); });
    over.insert(over.end(), kept, left_.end());
    left_.erase(kept, left_.end());
  }
  for (const std::size_t shard : shards) board_->left(shard);
  for (const CandidacyPtr& candidacy : over) candidacy->elector->abandon();
}

/// The kernel's proof that a member is gone saves the wait for its leases. Each lease's machine looks for the proof
/// itself; this only makes it look.
void ShardedElector::Impl::followLivenessFiles(const Instant& now) {
  const auto livenessFiles = watch_.livenessFiles(now);
  for (auto it = followed_.begin(); it != followed_.end();) {
    it = livenessFiles.count(it->first) == 0 ? followed_.erase(it) : std::next(it);
  }
  if (livenessFiles.empty()) return;
  const auto error = storeErrorOf([&] {
    const std::shared_ptr<DeathNotice> notice = extended(group_.store())->deathNotice();
    if (!notice) return;
    for (const auto& [livenessFile, record] : livenessFiles) {
      if (followed_.count(livenessFile) == 0) follow(*notice, livenessFile, record);
    }
  });
  if (error) log(LogLevel::warn, "no death notice of other members: " + error->message);
}

void ShardedElector::Impl::follow(DeathNotice& notice, const std::string& livenessFile, const LeaseRecord& record) {
  followed_[livenessFile] =
      notice.follow(record, [link = link_, weak = weak_from_this(), livenessFile](const RecordVersion&) {
        link->post([weak, livenessFile] {
          const auto self = weak.lock();
          if (!self) return;
          self->watch_.provenDead(livenessFile);
          self->list();  // at once, because the shards that it left are free now
        });
      });
}

}  // namespace tenure
