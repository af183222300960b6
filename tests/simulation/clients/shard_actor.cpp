// Users of ShardedElector that start and stop.
#include <optional>

#include <tenure/election/sharded_elector.hpp>

#include "simulation/clients/world.hpp"

namespace tenure::test {
namespace {

constexpr unsigned shardCount = 5;

class ShardActor final : public Actor {
 public:
  explicit ShardActor(Life& life) : life_{life}, world_{life.world} { make(); }

  void act() override {
    if (!elector_) return make();
    for (const auto& [shard, term] : seen_->terms) world_.readInterrupted(handleOf(shard, term));
    if (world_.happens(Disturbance::stop)) stopping_ = true, elector_->requestStop();
    if (stopping_ && (world_.calm() || world_.load.chance(0.3)) && world_.depth() < 2) destroy();
  }
  void leave() override {
    if (!elector_) return;
    for (const OwnedShard& owned : elector_->owned()) left_.push_back(keyOf(owned.shard.index));
    elector_->requestStop();
    stopping_ = true;
  }
  [[nodiscard]] bool ended() const override {
    for (const LeaseKey& key : left_) {
      const auto record = world_.recordOf(key);
      if (record && record->holder == seen_->candidate && !record->released) return false;
    }
    return seen_->open.empty() && *seen_->callbacks == 0;
  }
  void drop() override {
    seen_->dead = true;
    elector_.reset();
  }
  void sent(const WriteRequest& request) override {
    if (request.purpose != WriteRequest::Purpose::release || !elector_) return;
    if (request.record.holder != elector_->candidate()) return;
    for (const auto& [shard, token] : seen_->open) {
      if (keyOf(shard) == request.key && token == request.record.token) {
        world_.broke("release", "shard " + toString(request.key) + " is released while its work runs");
      }
    }
  }
  [[nodiscard]] std::string leads() const override {
    std::string out = "shards ";
    if (!elector_) return out;
    for (const OwnedShard& owned : elector_->owned()) out += '/' + owned.shard.name;
    return out;
  }

 private:
  struct Seen {
    std::string candidate{};
    bool dead{false}, silenced{false};
    std::map<std::size_t, FencingToken> open{}, last{};
    std::map<std::size_t, Leadership> terms{};
    std::shared_ptr<unsigned> callbacks{std::make_shared<unsigned>(0)};
  };

  [[nodiscard]] LeaseKey keyOf(std::size_t shard) const {
    const std::string name = std::to_string(shard);
    return world_.plan().together ? LeaseKey{"shards", name} : LeaseKey{"shards/" + name};
  }
  [[nodiscard]] Handle handleOf(std::size_t shard, const Leadership& term) const {
    return {&life_,
            keyOf(shard),
            term.fencingToken(),
            term.holder(),
            [term] { return term.isValid(); },
            [term] { return term.leads(); }};
  }

  void make() {
    stopping_ = false;
    GroupOptions options;
    options.group = "shards";
    options.candidate.id = life_.name;
    options.lease = world_.lease();
    options.shards.count = shardCount;
    seen_ = std::make_shared<Seen>();
    loop_ = world_.makeLoop(life_);
    ShardListener listener;
    listener.onShardElected = [this, seen = seen_](const Shard& shard, const Leadership& term) {
      elected(*seen, shard.index, term);
    };
    listener.onShardRevoked = [this, seen = seen_](const Shard& shard, const TermEnd& why) {
      revoked(*seen, shard.index, why);
    };
    Runtime runtime{loop_, world_.executor(life_, seen_->callbacks),
                    std::make_unique<SeededRandom>(world_.process.next())};
    elector_ = std::make_unique<ShardedElector>(Group::make(options, life_.store, world_.logger()).value(), listener,
                                                std::move(runtime));
    seen_->candidate = elector_->candidate();
    elector_->start();
  }

  void check(const Seen& seen, const std::string& what) const {
    world_.note(seen.candidate, what);
    if (world_.onLoop()) world_.broke("thread", what + " on a scheduler");
    if (seen.silenced) world_.broke("after", what + " of " + seen.candidate + " after the destructor returned");
  }
  void elected(Seen& seen, std::size_t shard, const Leadership& term) {
    if (seen.dead) return;
    check(seen, "onShardElected " + std::to_string(shard) + " with token " + toString(term.fencingToken()));
    world_.met("shardElected");
    if (!seen.open.emplace(shard, term.fencingToken()).second) world_.broke("pairing", "onShardElected again");
    if (term.fencingToken() <= seen.last[shard]) world_.broke("token", "a shard's token has not risen");
    seen.last[shard] = term.fencingToken();
    seen.terms.insert_or_assign(shard, term);
    world_.believe(handleOf(shard, term));
    if (world_.happens(Disturbance::callbackThrows)) throw std::runtime_error{"the work"};
  }
  void revoked(Seen& seen, std::size_t shard, const TermEnd& why) {
    if (seen.dead) return;
    check(seen, "onShardRevoked " + std::to_string(shard) + " with token " + toString(why.token));
    world_.met("shardRevoked");
    const auto open = seen.open.find(shard);
    if (open == seen.open.end() || open->second != why.token)
      world_.broke("pairing", "onShardRevoked without its onShardElected");
    if (seen.terms.at(shard).leads()) world_.broke("leads", "a shard is led in its onShardRevoked");
    if (open != seen.open.end()) seen.open.erase(open);
  }

  void destroy() {
    auto elector = std::shared_ptr<ShardedElector>{std::move(elector_)};
    const auto seen = seen_;
    const auto loop = loop_;
    elector.reset();
    if (!life_.alive) return;
    seen->silenced = true;
    loop->closed = true;
    for (const auto& [shard, term] : seen->terms) {
      if (term.leads()) world_.broke("leads", "a shard is led after its elector was destroyed");
    }
  }

  Life& life_;
  World& world_;
  std::shared_ptr<Seen> seen_{};
  std::shared_ptr<Loop> loop_{};
  std::unique_ptr<ShardedElector> elector_{};
  bool stopping_{false};
  std::vector<LeaseKey> left_{};  ///< the keys that it led when the end came
};

}  // namespace

std::unique_ptr<Actor> makeShardActor(Life& life) { return std::make_unique<ShardActor>(life); }

}  // namespace tenure::test
