// Users of LockTokens, whose calls block. Each call waits inside the world; in reality it would wait on its own thread.
// Tokens pass from one user to another, and old ones are used again.
#include <algorithm>

#include <tenure/lockcore/lock_tokens.hpp>

#include "lockcore/token/lock_token_parts.hpp"
#include "simulation/clients/world.hpp"

namespace tenure::test {
namespace {

using std::chrono::milliseconds;

class TokenActor final : public Actor {
 public:
  explicit TokenActor(Life& life) : life_{life}, world_{life.world} {}

  void act() override {
    if (world_.depth() > 1) return;  // enough calls are waiting already
    const std::uint64_t draw = world_.load.below(10);
    const LeaseKey key{"token" + std::to_string(world_.load.below(2))};
    if (draw < 3 || world_.tokenTexts.empty()) return acquire(key);
    const std::size_t newest = world_.tokenTexts.size() - 1;
    const std::size_t which = world_.load.chance(0.6) ? newest - std::min<std::size_t>(newest, world_.load.below(2))
                                                      : world_.load.below(newest + 1);
    const LockToken token = LockToken::from(world_.tokenTexts[which]).value();
    if (draw < 6) return renew(token);
    if (draw < 8) return release(token);
    if (draw < 9) return check(token);
    resume(token);
  }
  void leave() override {}
  [[nodiscard]] bool ended() const override { return true; }
  void drop() override {}

 private:
  [[nodiscard]] milliseconds lease() { return world_.plan().lease * (1 + static_cast<int>(world_.load.below(2))); }

  void acquire(const LeaseKey& key) {
    TokenAcquireOptions options;
    options.lease = lease();
    options.waitFor = milliseconds{
        world_.load.chance(0.4)
            ? 0
            : static_cast<std::int64_t>(world_.load.below(2 * static_cast<std::uint64_t>(options.lease.count())))};
    options.owner = life_.name;
    LockTokens tokens{life_.store, world_.logger()};
    const auto token = tokens.acquire(key, options);
    if (!life_.alive) return;
    if (token.has_error()) {
      world_.met(token.error().code == LockErrc::unknown ? "tokenUnknown" : "tokenRefused");
      return world_.note(life_.name, "gets no token: " + std::string{toString(token.error().code)});
    }
    world_.met("tokenWon");
    keep(*token, "acquires");
    believe(*token);
  }

  void renew(const LockToken& token) {
    TokenRenewOptions options;
    if (world_.load.chance(0.3)) options.lease = lease();
    options.budget = world_.plan().lease;
    const auto versions = begin(token);
    LockTokens tokens{life_.store, world_.logger()};
    const auto next = tokens.renew(token, options);
    world_.frame = nullptr;
    if (!life_.alive) return;
    if (next.has_value()) {
      world_.met("tokenRenewed");
      keep(*next, "renews");
      if (next->version() == token.version() || versions->count(next->version().text()) == 0)
        world_.broke("answer", "a renewal gave a version that it did not write");
      return believe(*next);
    }
    judge(token, next.error(), "renews");
  }
  void release(const LockToken& token) {
    static_cast<void>(begin(token));
    LockTokens tokens{life_.store, world_.logger()};
    const auto result = tokens.release(token, world_.plan().lease);
    world_.frame = nullptr;
    if (!life_.alive) return;
    if (result.has_error()) return judge(token, result.error(), "releases");
    world_.met("tokenReleased");
    world_.note(token.owner(), "token released: " + std::string{toString(*result)});
    const auto record = world_.recordOf(token.key());
    const bool held = record && !record->vanished && !record->released && record->holder == token.owner();
    if (held)
      world_.broke("result",
                   "a release told `" + std::string{toString(*result)} + "`, and " + token.owner() + " holds it");
  }
  void check(const LockToken& token) {
    LockTokens tokens{life_.store, world_.logger()};
    const auto view = tokens.check(token);
    if (!life_.alive || view.has_error()) return;
    if (view->active != !view->why) world_.broke("answer", "a check tells both");
    if (view->why && view->why->code == LockErrc::superseded) superseded(token, "a check");
  }
  void resume(const LockToken& token) {
    LockTokens tokens{life_.store, world_.logger()};
    const auto next = tokens.resume(token.key(), token.owner(), {.budget = world_.plan().lease});
    if (!life_.alive || next.has_error()) return;
    world_.met("tokenResumed");
    keep(*next, "resumes");
    believe(*next);
  }

  /// The versions that the call that begins now may replace: that of the token, and those that the call itself writes.
  std::shared_ptr<std::set<std::string>> begin(const LockToken& token) {
    return world_.frame = std::make_shared<std::set<std::string>>(std::set<std::string>{token.version().text()});
  }

  void keep(const LockToken& token, const std::string& what) {
    world_.note(token.owner(), what + " by token, " + toString(token.fencingToken()));
    if (!world_.wasWritten(token.version())) world_.broke("answer", "a token names a version that was never written");
    world_.tokenTexts.push_back(token.text());
  }
  /// The token's bearer believes in it as long as the token says so and the bearer has neither renewed nor released it.
  void believe(const LockToken& token) {
    const auto valid = [this, token] {
      const World::Inside inside{world_, life_};
      const auto left = token.remaining();
      return left && left->count() > 0 && !world_.wasOverwritten(token.version());
    };
    world_.believe({&life_, token.key(), token.fencingToken(), token.owner(), valid, [] { return false; }});
  }
  void superseded(const LockToken& token, const std::string& what) const {
    if (!world_.wasOverwritten(token.version()))
      world_.broke("answer", what + " tells `superseded` of the newest token");
  }
  void judge(const LockToken& token, const LockError& error, const std::string& what) const {
    world_.note(token.owner(), what + " by token: " + std::string{toString(error.code)});
    const auto record = world_.recordOf(token.key());
    const bool his = record && !record->vanished && record->holder == token.owner();
    if (error.code == LockErrc::superseded) {
      world_.met("tokenSuperseded");
      superseded(token, what);
    } else if (error.reason == RevokeReason::expired) {
      world_.met("tokenExpired");
      if (LockTokenAccess::partsOf(token).clockDomain != life_.name)
        world_.broke("answer", "a clock of another boot told `expired`");
    } else if (error.code == LockErrc::lost) {
      world_.met("tokenLost");
      if (his && !record->released && record->version == token.version())
        world_.broke("answer", "a token is told to be lost that holds its lock");
    } else if (error.code == LockErrc::notHeld) {
      if (his && !record->released) world_.broke("answer", "a token is told to be released, and its record is not");
    }
  }

  Life& life_;
  World& world_;
};

}  // namespace

std::unique_ptr<Actor> makeTokenActor(Life& life) { return std::make_unique<TokenActor>(life); }

}  // namespace tenure::test
