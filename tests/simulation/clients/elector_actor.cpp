// Users of LeaderElector, and the rules of its callbacks.
#include <algorithm>
#include <stdexcept>

#include <tenure/election/leader_elector.hpp>

#include "simulation/clients/world.hpp"

namespace tenure::test {
namespace {

class ElectorActor final : public Actor {
 public:
  ElectorActor(Life& life, std::string group) : life_{life}, world_{life.world}, group_{std::move(group)} { make(); }

  void act() override {
    if (!elector_) return make();
    if (seen_->term) world_.readInterrupted(handleOf(*seen_->term));
    if (world_.happens(Disturbance::staleToken) && seen_->term)
      seen_->term->reportStaleToken(seen_->term->fencingToken().next());
    meddle();
    if (stopping_ && (world_.calm() || world_.load.chance(0.3))) destroy();
  }
  void leave() override {
    led_ = elector_ && elector_->isLeader();
    if (elector_ && !stopping_) elector_->requestStop();
    stopping_ = true;
  }
  [[nodiscard]] bool ended() const override {
    const auto hasEnded = [](const auto& seen) { return !seen->open; };
    if (!std::all_of(gone_.begin(), gone_.end(), hasEnded)) return false;
    return !seen_->open && *seen_->callbacks == 0 && !isHeld();
  }
  void drop() override {
    seen_->dead = true;
    elector_.reset();
  }
  void sent(const WriteRequest& request) override {
    if (request.purpose != WriteRequest::Purpose::release || request.record.holder != seen_->candidate) return;
    const std::uint64_t token = request.record.token.value();
    const bool led = seen_->led >= token && token != 0;
    if (led && seen_->ended < token && !seen_->silenced) {
      world_.broke("release", seen_->candidate + " releases token " + std::to_string(token) + " while its work runs");
    }
    if (led) world_.met("releaseWhileDraining");
  }
  [[nodiscard]] std::string leads() const override { return elector_ && elector_->isLeader() ? group_ : std::string{}; }

 private:
  /// What callbacks know. It outlives the elector, because callbacks may come after the elector is gone.
  struct Seen {
    std::string candidate{};
    bool dead{false};      ///< the process is dead
    bool silenced{false};  ///< no callback may come any more
    bool open{false};      ///< elected, and not revoked yet
    std::uint64_t led{0}, ended{0};
    std::optional<Leadership> term{};
    std::shared_ptr<unsigned> callbacks{std::make_shared<unsigned>(0)};
  };

  /// After all electors have stopped properly, no lease may be left to expire.
  [[nodiscard]] bool isHeld() const {
    const auto record = world_.recordOf({group_});
    return led_ && record && record->holder == seen_->candidate && !record->released && !record->vanished;
  }
  Handle handleOf(const Leadership& term) {
    return {&life_,
            {group_},
            term.fencingToken(),
            term.holder(),
            [term] { return term.isValid(); },
            [term] { return term.leads(); }};
  }

  void make() {
    stopping_ = false;
    GroupOptions options;
    options.group = group_;
    options.candidate.id = life_.name;
    options.candidate.priority = static_cast<unsigned>(world_.load.below(2));
    options.lease = world_.lease();
    if (world_.load.chance(0.3)) options.lease.drainTimeout = options.lease.duration / 2;
    seen_ = std::make_shared<Seen>();
    loop_ = world_.makeLoop(life_);
    Listener listener;
    listener.onElected = [this, seen = seen_](const Leadership& term) { elected(*seen, term); };
    listener.onRevoked = [this, seen = seen_](const TermEnd& why) { revoked(*seen, why); };
    if (world_.load.chance(0.5)) {
      listener.onInDoubt = [](const Doubt&) {};
      listener.onLeaderChanged = [](const std::optional<LeaderInfo>&) {};
    }
    Runtime runtime{loop_, world_.executor(life_, seen_->callbacks),
                    std::make_unique<SeededRandom>(world_.process.next())};
    elector_ = std::make_unique<LeaderElector>(Group::make(options, life_.store, world_.logger()).value(), listener,
                                               std::move(runtime));
    seen_->candidate = elector_->candidate();
    elector_->start();
  }

  void elected(Seen& seen, const Leadership& term) {
    if (seen.dead) return;
    const std::string who = seen.candidate + " with token " + toString(term.fencingToken());
    world_.note(who, "onElected");
    world_.met("elected");
    check(seen, "onElected of " + who);
    if (seen.open) world_.broke("pairing", "onElected again: " + who);
    if (term.fencingToken().value() <= seen.ended) world_.broke("token", "not higher than before: " + who);
    seen.open = true;
    seen.led = term.fencingToken().value();
    seen.term = term;
    world_.believe(handleOf(term));
    meddleInside();
    if (!world_.happens(Disturbance::callbackThrows)) return;
    world_.met("electedThrew");
    throw std::runtime_error{"the work"};
  }
  void revoked(Seen& seen, const TermEnd& why) {
    if (seen.dead) return;
    const std::string who = seen.candidate + " with token " + toString(why.token);
    world_.note(who, "onRevoked: " + std::string{toString(why.reason)});
    world_.met("revoked");
    check(seen, "onRevoked of " + who);
    if (!seen.open || seen.led != why.token.value()) world_.broke("pairing", "onRevoked without its onElected: " + who);
    if (seen.term && seen.term->leads()) world_.broke("leads", "it leads in onRevoked: " + who);
    meddleInside();
    seen.open = false;
    seen.ended = why.token.value();
    if (world_.happens(Disturbance::callbackThrows)) throw std::runtime_error{"the work"};
  }
  void check(const Seen& seen, const std::string& what) const {
    if (world_.onLoop()) world_.broke("thread", what + " on a scheduler");
    if (seen.silenced) world_.broke("after", what + " after the destructor returned");
  }

  void meddleInside() {
    if (!elector_ || !world_.happens(Disturbance::insideCallback)) return;
    world_.met("actedInCallback");
    if (world_.load.chance(0.3)) {
      world_.met("destroyedInCallback");
      gone_.push_back(seen_);
      elector_.reset();
    } else if (world_.load.chance(0.5)) {
      stopping_ = true;
      if (elector_->stop() != ReleaseResult::unknown && world_.recordOf({group_})) world_.met("stoppedInCallback");
    } else {
      elector_->stepDown("in a callback");
    }
  }
  void meddle() {
    if (world_.happens(Disturbance::stepDown)) elector_->stepDown("for a while");
    if (!world_.happens(Disturbance::stop)) return;
    stopping_ = true;
    if (world_.depth() > 1 || world_.load.chance(0.5)) return elector_->requestStop();
    stopAndWait();
  }

  void stopAndWait() {
    const auto seen = seen_;
    auto elector = std::shared_ptr<LeaderElector>{std::move(elector_)};
    const TrueTime bound = bound_();
    const ReleaseResult result = elector->stop();
    if (!life_.alive) return;
    world_.met(result == ReleaseResult::notDrained ? "notDrained" : "stoppedAndWaited");
    world_.note(seen->candidate, "stopped: " + std::string{toString(result)});
    if (world_.now() > bound + late()) world_.broke("bound", seen->candidate + ": stop() took too long");
    if (elector->isLeader()) world_.broke("leads", seen->candidate + " leads after stop()");
    const bool polite = result == ReleaseResult::released || result == ReleaseResult::notHeld;
    if (polite && seen->open) world_.broke("pairing", seen->candidate + ": stop() returned before onRevoked");
    const auto record = world_.recordOf({group_});
    const bool his = record && record->holder == seen->candidate && !record->released && !record->vanished;
    if (result == ReleaseResult::released && his)
      world_.broke("result",
                   seen->candidate + ": stop() told " + std::string{toString(result)} + ", and it holds the lease");
    destroy(std::move(elector));
  }
  void destroy(std::shared_ptr<LeaderElector> elector = {}) {
    if (world_.depth() > 1) return;
    if (!elector) elector = std::move(elector_);
    const auto seen = seen_;
    const auto loop = loop_;
    const TrueTime bound = bound_();
    elector.reset();
    if (!life_.alive) return;
    if (world_.now() > bound + late() + std::chrono::seconds{1})
      world_.broke("bound", seen->candidate + ": the destructor took too long");
    world_.met("destroyedAndWaited");
    seen->silenced = true;
    loop->closed = true;
    if (seen->term && seen->term->leads()) world_.broke("leads", seen->candidate + " leads after its end");
  }
  [[nodiscard]] TrueTime bound_() {
    const auto options = world_.lease();
    pausedBefore_ = life_.paused + world_.stoodStill();
    nestedBefore_ = world_.nested();
    return world_.now() + TrueTime{options.duration} * 2 + std::chrono::seconds{1};
  }
  /// How long the process stood still, and one lease for slow clocks. Without a bound if it waited inside another wait.
  [[nodiscard]] TrueTime late() const {
    if (world_.nested() != nestedBefore_) return std::chrono::hours{24};
    return life_.paused + world_.stoodStill() - pausedBefore_ + TrueTime{world_.plan().lease};
  }

  Life& life_;
  World& world_;
  const std::string group_;
  std::shared_ptr<Seen> seen_{};
  std::vector<std::shared_ptr<Seen>> gone_{};  ///< of electors that a callback destroyed
  std::shared_ptr<Loop> loop_{};
  std::unique_ptr<LeaderElector> elector_{};
  bool stopping_{false};
  bool led_{false};  ///< it led when the end came
  TrueTime pausedBefore_{0};
  std::uint64_t nestedBefore_{0};
};

}  // namespace

std::unique_ptr<Actor> makeElectorActor(Life& life, const std::string& group) {
  return std::make_unique<ElectorActor>(life, group);
}

}  // namespace tenure::test
