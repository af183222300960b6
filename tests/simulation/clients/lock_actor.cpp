// Users of LockClient: several clients of one process for a few keys, and the rules for what the library reports to
// them.
#include <algorithm>
#include <condition_variable>

#include <tenure/lockcore/lock_client.hpp>

#include "simulation/clients/lock_taking.hpp"

namespace tenure::test {
namespace {

using std::chrono::milliseconds;
using TakingPtr = std::shared_ptr<Taking>;

class LockActor final : public Actor {
 public:
  LockActor(Life& life, const std::string& name) : life_{life}, world_{life.world}, name_{life.name + "." + name} {
    make();
  }

  void act() override {
    // A lock may outlive its client.
    for (const TakingPtr& one : left_) {
      if (!one->lock) continue;
      checkLoss(*one);
      if (world_.calm() || world_.load.chance(0.4)) letGo(*one);
    }
    std::erase_if(left_, [](const TakingPtr& one) { return one->told > 0 && (!one->lock || one->result); });
    if (!client_) return make();
    for (const TakingPtr& one : std::vector<TakingPtr>{takings_}) use(one);
    if (!life_.alive || !client_) return;
    std::erase_if(takings_, [](const TakingPtr& one) { return one->over() && one->renewals == one->renewalsTold; });
    if (!world_.calm() && world_.happens(Disturbance::close)) return close();
    take();
  }
  void leave() override {
    if (client_) close();
    for (const TakingPtr& one : left_) letGo(*one);
  }
  [[nodiscard]] bool ended() const override {
    return std::all_of(all_.begin(), all_.end(), [](const TakingPtr& one) {
      return one->told == 1 && one->renewals == one->renewalsTold && one->lossTold <= 1;
    });
  }
  void drop() override {
    for (const TakingPtr& one : all_) letGo(*one);
    client_.reset();
  }
  void sent(const WriteRequest& request) override {
    if (request.purpose == WriteRequest::Purpose::acquire) return;
    for (const TakingPtr& one : all_) {
      if (!one->lock || one->lock->holder() != request.record.holder || one->key != request.key ||
          one->lock->fencingToken() != request.record.token)
        continue;
      if (request.purpose == WriteRequest::Purpose::renew) {
        // A renewal that was asked for right before the release is told as lost, and may be sent all the same.
        const bool ends = one->closing || one->result;
        if (one->options.manualHeartbeat && one->renewals == one->renewalsTold && !ends)
          world_.broke("heartbeat", "it is manual, and nobody asked for a renewal: " + name_);
        continue;
      }
      if (one->lock->isHeld()) world_.broke("release", "a lock is released that is held: " + one->key.name);
      // If only its client has given it up, the client reports that before the release.
      if (one->closing && !one->result && one->lossTold == 0)
        world_.broke("release", "before onLost has returned: " + name_);
    }
  }
  void applied(const WriteRequest& request, FencingToken) override {
    if (request.purpose != WriteRequest::Purpose::acquire || !client_ || request.record.holder != client_->candidate())
      return;
    const auto mine = std::find_if(takings_.begin(), takings_.end(), [&](const TakingPtr& one) {
      return one->key == request.key && !one->over() && !one->lock;
    });
    if (mine == takings_.end()) return;
    for (const auto& actor : life_.actors) {
      if (const auto* other = dynamic_cast<const LockActor*>(actor.get()); other != nullptr && other != this)
        checkLine(**mine, *other);
    }
    (*mine)->served = true;
  }

 private:
  void make() {
    ++generation_;
    takings_.clear();
    lingering_.clear();
    prepared_ = false;
    LockClientOptions options;
    options.candidate = name_;
    options.lease = world_.lease();
    options.logger = world_.logger();
    loop_ = world_.makeLoop(life_);
    client_ = std::make_shared<LockClient>(
        life_.store, options,
        Runtime{loop_, world_.executor(life_), std::make_unique<SeededRandom>(world_.process.next())});
  }

  /// First come, first served, as long as the later one does not compete by itself instead of waiting in line.
  void checkLine(const Taking& mine, const LockActor& other) {
    for (const TakingPtr& one : other.takings_) {
      const bool waits = one->key == mine.key && one->inLine && one->told == 0 && !one->served && !one->cancelled;
      if (!waits || !mine.inLine) continue;
      const auto most = TrueTime{world_.plan().lease} * 9 / 10;
      const bool competes = world_.now() - mine.called >=
                            std::min<TrueTime>(most, mine.options.waitFor.value_or(world_.plan().lease) * 9 / 10);
      const bool expired =
          one->options.waitFor && world_.now() - one->called >= TrueTime{*one->options.waitFor} * 9 / 10;
      if (competes || expired) continue;
      world_.met("servedInLine");
      if (one->called < mine.called)
        world_.broke("line", name_ + " is served before " + other.name_ + ", who came first, for " + mine.key.name);
    }
  }

  void take() {
    const LeaseKey key{"lock" + std::to_string(world_.load.below(2))};
    const bool before =
        std::any_of(takings_.begin(), takings_.end(), [&](const TakingPtr& one) { return one->key == key; });
    if (before || (world_.calm() && !world_.load.chance(0.3))) return;
    const auto one = std::make_shared<Taking>();
    one->key = key;
    one->client = generation_;
    draw(one->options);
    one->longest = one->options.lease.value_or(world_.plan().lease);
    one->called = world_.now();
    one->kept = world_.load.chance(0.2);
    one->pausedBefore = still();
    one->inLine =
        prepared_ && !one->options.mustExist && lingering_.count(key) == 0 && one->options.waitFor != milliseconds{0};
    takings_.push_back(one);
    all_.push_back(one);
    world_.note(name_,
                "wants " + key.name +
                    (one->options.waitFor ? " within " + std::to_string(one->options.waitFor->count()) + " ms" : "") +
                    (one->inLine ? ", in line" : ""));
    if (one->options.waitFor && mayBlock() && world_.load.chance(0.2)) {
      world_.met("acquiredAndWaited");
      return acquireAndWait(one);
    }
    client_->acquireAsync(
        key, one->options, [this, one](LockResult<Lock> result) { told(one, std::move(result)); },
        one->cancel.get_token());
  }
  void acquireAndWait(const TakingPtr& one) {
    const auto client = client_;
    const std::uint64_t before = world_.nested();
    try {
      LockResult<Lock> result = client->acquire(one->key, one->options);
      one->putOff = world_.nested() != before;
      if (life_.alive) told(one, std::move(result));
    } catch (const NeverTold&) {
      world_.broke("bound", "an acquisition of " + name_ + " never ended");
    }
  }
  void draw(AcquireOptions& options) {
    const auto lease = world_.plan().lease;
    if (world_.load.chance(0.7))
      options.waitFor = milliseconds{world_.load.below(4) == 0 ? 0
                                                               : static_cast<std::int64_t>(world_.load.below(
                                                                     3 * static_cast<std::uint64_t>(lease.count())))};
    if (world_.load.chance(0.2)) options.lease = lease * 2;
    if (world_.load.chance(0.2)) options.manualHeartbeat = true;
    if (world_.load.chance(0.2)) options.maxConsecutiveHold = lease / 2;
    if (world_.load.chance(0.3)) options.data = "data", options.replaceData = world_.load.chance(0.7);
    if (world_.load.chance(0.2)) options.attributes["colour"] = "red";
    if (world_.load.chance(0.1)) options.mustExist = true;
    if (world_.load.chance(0.1)) options.deleteOnRelease = true;
    if ((world_.plan().rateBound > 500e-6)) options.lease.reset();  // the guard fits the client's lease
  }

  void told(const TakingPtr& one, LockResult<Lock> result) {
    if (!life_.alive) return;
    if (++one->told > 1) world_.broke("once", "an acquisition of " + name_ + " was told twice");
    if (world_.onLoop()) world_.broke("thread", "an acquisition is told on a scheduler");
    checkBound(*one);
    if (result.has_error()) {
      world_.note(name_, "gets no " + one->key.name + ": " + std::string{toString(result.error().code)});
      const LockErrc code = result.error().code;
      if (code != LockErrc::held) lingering_.insert(one->key);
      world_.met(code == LockErrc::timeout     ? "lockTimedOut"
                 : code == LockErrc::unknown   ? "lockUnknown"
                 : code == LockErrc::cancelled ? "lockCancelled"
                                               : "lockRefused");
      if (code == LockErrc::cancelled && !one->cancelled) world_.broke("answer", "cancelled by nobody: " + name_);
      return;
    }
    prepared_ = prepared_ || one->client == generation_;
    judgeWon(world_, *one, *result);
    if (one->cancelled) world_.met("wonBeforeItWasCancelled");
    one->lock = std::make_shared<Lock>(std::move(*result));
    world_.note(name_, "wins " + one->key.name + " with token " + toString(one->lock->fencingToken()));
    world_.met("lockWon");
    one->lock->onLost([this, weak = std::weak_ptr{one}](const TermEnd& loss) {  // the lock owns the callback
      if (const auto mine = weak.lock()) lost(*mine, loss);
    });
    const Handle handle = handleOf(one->lock);
    world_.believe(handle);
  }
  Handle handleOf(const std::shared_ptr<Lock>& lock) {
    return {&life_,
            lock->key(),
            lock->fencingToken(),
            lock->holder(),
            [lock] { return lock->isValid(); },
            [lock] { return lock->isHeld(); }};
  }
  void checkBound(const Taking& one) const {
    if (!one.options.waitFor || one.putOff || world_.draws(Disturbance::hungCallback)) return;
    const auto wait = *one.options.waitFor == milliseconds{0} ? milliseconds{5'000} : *one.options.waitFor;
    const TrueTime most = TrueTime{wait} * 11 / 10 + TrueTime{world_.plan().lease} * 2 + milliseconds{30} +
                          TrueTime{world_.plan().mostDelay} * 8;
    if (world_.now() - one.called - (still() - one.pausedBefore) > most)
      world_.broke("bound", "an acquisition of " + name_ + " took longer than its wait");
  }
  void lost(Taking& one, const TermEnd& loss) {
    if (!life_.alive) return;
    world_.met("lockLost");
    world_.note(name_, "loses " + one.key.name + ": " + std::string{toString(loss.reason)});
    if (++one.lossTold > 1) world_.broke("once", "a loss was told twice to " + name_);
    if (one.lock->isHeld()) world_.broke("leads", "a lock is held that was lost: " + name_);
    checkLoss(one);
  }
  void checkLoss(Taking& one) const {
    const auto known = one.lock->loss();
    if (one.loss && (!known || known->reason != one.loss->reason || known->detail != one.loss->detail)) {
      world_.broke("loss", "the reason of a loss changed: " + name_);
    }
    if (known && known->token != one.lock->fencingToken()) world_.broke("loss", "a loss of another term: " + name_);
    one.loss = known;
  }

  void use(const TakingPtr& one) {
    if (one->told == 0) {
      if (!world_.happens(Disturbance::cancel)) return;
      one->cancelled = true;
      static_cast<void>(one->cancel.request_stop());
      return;
    }
    if (!one->lock) return;
    checkLoss(*one);
    if (one->result) return askAgain(*one);
    checkRenewal(*one);
    world_.readInterrupted(handleOf(one->lock));
    if (world_.happens(Disturbance::staleToken)) one->lock->reportStaleToken(one->lock->fencingToken().next());
    if (world_.load.chance(0.2)) mayBlock() && world_.load.chance(0.5) ? renewAndWait(one) : renew(one);
    if (!life_.alive || one->result) return;
    if (world_.load.chance(0.1) && !one->share) share(*one);
    if (world_.load.chance(0.1)) watchExpiry(*one);
    if (world_.load.chance(0.05)) takeAgain(*one);
    if (world_.load.chance(world_.calm() ? 0.7 : one->kept ? 0.02 : 0.3)) release(*one);
  }
  /// If a lock is still held, a renewal that was asked for was carried out meanwhile, with everything that it asked
  /// for.
  void checkRenewal(const Taking& one) const {
    const bool open =
        one.renewals != one.renewalsTold && one.lock->isHeld() && !world_.draws(Disturbance::hungCallback);
    if (open && world_.now() - still() - one.renewedAt > TrueTime{one.longest} * 4) {
      world_.broke("bound", "a renewal of " + name_ + " is not told, and the lock is held");
    }
  }
  [[nodiscard]] TrueTime still() const { return life_.paused + world_.stoodStill(); }

  /// A crash may come while it waits, and then nobody answers.
  [[nodiscard]] bool mayBlock() const { return world_.depth() == 0 && !world_.draws(Disturbance::crash); }
  /// Its clock may jump from one call to the next.
  [[nodiscard]] bool clockIsSteady() const {
    return !world_.draws(Disturbance::jumpyClock) && !world_.draws(Disturbance::interrupted);
  }
  [[nodiscard]] bool mayChangeLease() const { return !(world_.plan().rateBound > 500e-6); }

  RenewOptions asked(Taking& one) {
    if (one.renewals++ == one.renewalsTold) one.renewedAt = world_.now() - still();
    RenewOptions options;
    if (world_.load.chance(0.3)) options.data = "other" + std::to_string(one.renewals);
    if (!options.data && world_.load.chance(0.1)) options.clearData = true;
    if (mayChangeLease() && world_.load.chance(0.3))
      options.lease = world_.plan().lease * (1 + static_cast<int>(world_.load.below(2)));
    one.longest = std::max(one.longest, options.lease.value_or(one.longest));
    one.lastAsked = options;
    return options;
  }
  void renew(const TakingPtr& one) {
    const RenewOptions options = asked(*one);
    one->lock->renewAsync(options, [this, one](const LockResult<void>& result) { renewalTold(*one, result); });
  }
  void renewalTold(Taking& one, const LockResult<void>& result) {
    if (!life_.alive) return;
    world_.met(result.has_error() ? "renewalLost" : "renewed");
    if (++one.renewalsTold > one.renewals) world_.broke("once", "a renewal was told twice to " + name_);
    if (world_.onLoop()) world_.broke("thread", "a renewal is told on a scheduler");
    one.renewalFailed = one.renewalFailed || result.has_error();
    if (result.has_error() && one.lock->isHeld() && one.lock->loss())
      world_.broke("leads", "a lock is held that was lost: " + name_);
    if (!result.has_error() && one.renewals == one.renewalsTold) judgeRenewed(world_, one);
  }
  /// The forms that wait.
  void renewAndWait(const TakingPtr& one) {
    const auto lock = one->lock;
    const milliseconds before = lock->lease();
    const bool alone = one->renewals == one->renewalsTold && !one->renewalFailed;
    const std::uint64_t form = world_.load.below(mayChangeLease() ? 4 : 3);
    if (form == 0) return renewalTold(*one, lock->renew(asked(*one)));
    if (form == 1) return refused(lock->extend(milliseconds{0})), refused(lock->ensure(std::chrono::hours{25}));
    if (one->renewals++ == one->renewalsTold) one->renewedAt = world_.now() - still();
    one->lastAsked = {};
    const milliseconds least = before / 2;
    if (form == 3) one->longest += before;
    const LockResult<void> result = form == 2 ? lock->ensure(least) : lock->extend(before);
    if (form == 2 && result && clockIsSteady() && lock->remaining() < least)
      world_.broke("ensure", "less is left than was asked for: " + name_);
    if (alone && result && lock->lease() != (form == 2 ? before : before * 2))
      world_.broke("extend", "the lease has another length: " + name_);
    world_.met(form == 2 ? "ensured" : "extended");
    renewalTold(*one, result);
  }
  void refused(const LockResult<void>& result) {
    const bool heard = result.has_error() && (result.error().code == LockErrc::invalidOptions);
    if (!heard) world_.broke("options", "what cannot be is not refused: " + name_);
  }
  void watchExpiry(const Taking& one) {
    const milliseconds before = world_.plan().lease / 4;
    static_cast<void>(one.lock->onExpiring(before, [this, before](std::chrono::nanoseconds left) {
      if (!life_.alive) return;
      world_.met("expiring");
      if (left > before || left <= std::chrono::nanoseconds{0}) world_.broke("expiring", "told too early: " + name_);
    }));
    refused(one.lock->onExpiring(milliseconds{0}, {}));
    refused(one.lock->onExpiring(std::chrono::hours{25}, {}));
  }
  /// Of the same client, while it holds it.
  void takeAgain(const Taking& one) {
    if (one.client != generation_ || !one.lock->isHeld() || world_.calm() || !clockIsSteady()) return;
    if (client_->holds(one.key) != one.lock->isHeld()) world_.broke("holds", "the client does not know: " + name_);
    static_cast<void>(client_->acquireAsync(one.key, {}, [this](const LockResult<Lock>& result) {
      const bool heard = result.has_error() && result.error().code == LockErrc::heldBySelf;
      if (life_.alive && !heard) world_.broke("again", "a second acquisition is not refused: " + name_);
    }));
  }
  void share(Taking& one) {
    auto other = one.lock->share();
    if (other.has_error()) return;
    world_.met("shared");
    one.share = std::make_shared<Lock>(std::move(*other));
    world_.believe(handleOf(one.share));
  }
  void release(Taking& one) {
    ReleaseOptions options;
    options.waitFor = milliseconds{0};
    if (world_.load.chance(0.2)) options.data = "left";
    if (world_.load.chance(0.1)) options.deleteRecord = true;
    one.left = options;
    if (world_.depth() == 0 && world_.load.chance(0.3)) options.waitFor.reset();
    if (one.share) {
      if (one.share->release(options) != ReleaseResult::shared)
        world_.broke("result", "the first of two handles gave the lock up: " + name_);
      one.share.reset();
    }
    const auto lock = one.lock;
    one.result = ReleaseResult::unknown;
    const ReleaseResult result = lock->release(options);
    if (!life_.alive) return;
    if (lock->isHeld() || lock->isValid()) world_.broke("leads", "a lock is held that was released: " + name_);
    judgeResult(one, result);
  }
  void askAgain(Taking& one) {
    if (one.over()) return;
    judgeResult(one, one.lock->release());
  }
  void judgeResult(Taking& one, ReleaseResult result) {
    one.result = result;
    if (one.over()) lingering_.erase(one.key);
    world_.note(name_, "released " + one.key.name + ": " + std::string{toString(result)});
    world_.met(result == ReleaseResult::released ? "lockReleased" : "lockReleaseUnknown");
    if (result == ReleaseResult::released) judgeReleased(world_, one);
  }

  static void letGo(Taking& one) {
    one.result = one.result.value_or(ReleaseResult::unknown);
    if (one.share) static_cast<void>(one.share->release({.waitFor = milliseconds{0}}));
    if (one.lock) static_cast<void>(one.lock->release({.waitFor = milliseconds{0}}));
    one.share.reset();
  }
  void close() {
    for (const TakingPtr& one : takings_) one->cancelled = true, one->closing = one->lock && one->lock->isHeld();
    const auto loop = loop_;
    const auto client = std::exchange(client_, nullptr);
    const auto takings = takings_;
    const CloseReport report = client->close();
    if (!life_.alive) return;
    world_.met("closed");
    for (const TakingPtr& one : takings) {
      if (one->lock && (one->lock->isHeld())) world_.broke("leads", "a lock is held after its client closed: " + name_);
    }
    for (const auto& [key, result] : report.locks) {
      const auto record = world_.recordOf(key);
      const bool his = record && !record->vanished && !record->released && record->holder == client->candidate();
      if (result == ReleaseResult::released && his)
        world_.broke("result", "close() told `released` of " + key.name + ", which is held");
    }
    left_.insert(left_.end(), takings.begin(), takings.end());
  }

  Life& life_;
  World& world_;
  const std::string name_;
  unsigned generation_{0};
  bool prepared_{false};  ///< it has won once, so its next acquisition joins the line at once
  std::shared_ptr<Loop> loop_{};
  std::shared_ptr<LockClient> client_{};  ///< a call that waits keeps it
  std::set<LeaseKey> lingering_{};        ///< keys for which an acquisition may still be taken back
  std::vector<TakingPtr> takings_{};
  std::vector<TakingPtr> left_{};  ///< of closed clients
  std::vector<TakingPtr> all_{};
};

}  // namespace

std::unique_ptr<Actor> makeLockActor(Life& life, const std::string& name) {
  return std::make_unique<LockActor>(life, name);
}

}  // namespace tenure::test
