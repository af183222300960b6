// Candidates over three real members, which are killed, frozen and started again: never two valid leaders, tokens rise
// strictly, each term is revoked once, and each loss is told before the holder's right ends. TENURE_ETCD_STORM: how
// many rounds (4). Partitions and full disks: partitions_test.py and full_disk_test.py.
#include <atomic>
#include <cstdlib>
#include <future>
#include <iostream>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>

#include "etcd/etcd_cluster.hpp"
#include "lockcore/stores/etcd/src/link/http_gateway.hpp"
#include "lockcore/stores/etcd/src/store.hpp"
#include "support/eventually.hpp"
#include "support/lateness_probe.hpp"

namespace tenure::etcd_store {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto lease = 2s;
constexpr test::Eventually eventually{40s};

/// What all candidates saw, and whether it may be so.
class Judge {
 public:
  void elected(FencingToken token) {
    const std::lock_guard lock{mutex_};
    if (!(last_ < token)) tell("token " + toString(token) + " after " + toString(last_));
    last_ = std::max(last_, token);
    open_.insert(token);
    ++elections_;
  }
  void revoked(FencingToken token) {
    const std::lock_guard lock{mutex_};
    if (open_.erase(token) == 0) tell("token " + toString(token) + " was revoked twice, or never elected");
  }
  /// The work was told to stop, so long before the right of the holder would have ended. A machine that is this late
  /// delays the telling, and the look at the last renewal.
  void told(FencingToken token, Seconds before, Seconds machineLate) {
    const std::lock_guard lock{mutex_};
    leastBefore_ = std::min(leastBefore_, before);
    if (before < -machineLate)
      tell("token " + toString(token) + " ended " + std::to_string(-before.count()) + " s ago untold, on a machine " +
           std::to_string(machineLate.count()) + " s late");
  }
  void wrong(const std::string& what) {
    const std::lock_guard lock{mutex_};
    tell(what);
  }
  /// At the end, when nobody leads.
  void expectAllRevoked() {
    const std::lock_guard lock{mutex_};
    for (const FencingToken token : open_) tell("token " + toString(token) + " was never revoked");
  }
  [[nodiscard]] std::vector<std::string> wrong() {
    const std::lock_guard lock{mutex_};
    return wrong_;
  }
  [[nodiscard]] int elections() {
    const std::lock_guard lock{mutex_};
    return elections_;
  }
  [[nodiscard]] Seconds leastBefore() {
    const std::lock_guard lock{mutex_};
    return leastBefore_;
  }

 private:
  void tell(const std::string& what) {
    if (wrong_.size() < 20) wrong_.push_back(what);
  }

  std::mutex mutex_;
  std::vector<std::string> wrong_{};  ///< guarded by the mutex, as the others
  std::set<FencingToken> open_{};
  FencingToken last_{};
  Seconds leastBefore_{lease};
  int elections_{0};
};

/// With a store object of its own, as in a process of its own. It leads from onElected to onRevoked.
class Candidate {
 public:
  Candidate(const test::EtcdCluster& cluster, Judge& judge, int number)
      : judge_{judge},
        group_{
            Group::make(
                {.group = "storm", .candidate = {.id = "c" + std::to_string(number)}, .lease = {.duration = lease}},
                makeStore("/storm", {makeHttpGateway({.endpoints = cluster.endpoints()}, {}), {}, sharedScheduler()}))
                .value()},
        elector_{group_,
                 {.onElected = [this](const Leadership& term) { elected(term); },
                  .onRevoked =
                      [this](const TermEnd& why) {
                        told_ = false;
                        judge_.revoked(why.token);
                      }}} {
    elector_.start();
  }
  [[nodiscard]] bool leads() const { return elector_.isLeader(); }
  /// What its callbacks say.
  [[nodiscard]] bool told() const { return told_; }
  [[nodiscard]] std::optional<FencingToken> token() const { return elector_.fencingToken(); }

  /// The watcher looks how long it leads if no further renewal succeeds.
  void look() { noteRemaining(elector_); }
  [[nodiscard]] Clock::duration leadsUntil() const { return leadsUntil_; }

 private:
  void elected(const Leadership& term) {
    judge_.elected(term.fencingToken());
    told_ = true;
    noteRemaining(term);  // an acquisition that was answered late may end before the watcher looks
    // Its right ends a stop margin after it has ceased to lead. It was looked at after its last renewal, which was more
    // than a heartbeat before this.
    onStop_.reset();
    late_.emplace();
    onStop_.emplace(term.stopToken(), [this, token = term.fencingToken()] {
      const Clock::duration end = leadsUntil_.load() + group_.timing().stopMargin();
      judge_.told(token, end - Clock::now().time_since_epoch(), late_->worst());
    });
  }

  template <class Term>
  void noteRemaining(const Term& term) {
    const Clock::time_point before = Clock::now();
    const auto left = term.remaining();
    if (left > 0ns) leadsUntil_ = (before + left).time_since_epoch();
  }

  Judge& judge_;
  std::atomic<bool> told_{false};
  std::atomic<Clock::duration> leadsUntil_{};
  std::optional<test::LatenessProbe> late_{};  ///< since the term began
  std::optional<std::stop_callback<std::function<void()>>> onStop_{};
  const Group group_;
  LeaderElector elector_;
};

class Storm : public testing::Test {
 protected:
  Storm() {
    for (const std::string& endpoint : cluster_.endpoints())
      members_.push_back(makeHttpGateway({.endpoints = {endpoint}}, {}));
    for (int i = 0; i < 4; ++i) candidates_.push_back(std::make_unique<Candidate>(cluster_, judge_, i));
    watcher_ = std::thread{[this] { watch(); }};
  }
  ~Storm() override {
    end();
    for (std::size_t i = 0; i < cluster_.size(); ++i) cluster_.thaw(i);
  }
  void end() {
    over_ = true;
    if (watcher_.joinable()) watcher_.join();
    candidates_.clear();
  }

  /// One is seen leading, then another, then the first one in the same term: both led at the moment in between.
  void watch() {
    const auto look = [this] {
      for (const auto& one : candidates_) {
        one->look();
        const auto token = one->token();
        for (const auto& other : candidates_) {
          const auto second = !token || other == one ? std::nullopt : other->token();
          if (second && one->token() == token)
            judge_.wrong("two leaders, with the tokens " + toString(*token) + " and " + toString(*second));
        }
      }
      return over_.load();
    };
    static_cast<void>(eventually(look, 24h));
  }
  template <class Condition>
  [[nodiscard]] bool any(const Condition& condition) const {
    return std::any_of(candidates_.begin(), candidates_.end(), [&](const auto& one) { return condition(*one); });
  }
  [[nodiscard]] bool somebodyLeads() const {
    return any([](const Candidate& one) { return one.leads(); });
  }
  [[nodiscard]] bool somebodyWasTold() const {
    return any([](const Candidate& one) { return one.told(); });
  }
  /// Somebody leads by an acquisition or a renewal that was sent after this moment.
  [[nodiscard]] bool writtenSince(Clock::time_point then) const {
    return any(
        [&](const Candidate& one) { return one.leads() && one.leadsUntil() > (then + leadsFor_).time_since_epoch(); });
  }

  /// Whether this member answers as the one that leads the cluster.
  [[nodiscard]] bool leadsCluster(std::size_t member) {
    auto promise = std::make_shared<std::promise<std::string>>();
    auto answer = promise->get_future();
    members_[member]->call(
        "/v3/maintenance/status", "{}", 500ms, Gateway::Repeat::yes,
        [promise](const Outcome& outcome) { promise->set_value(outcome ? outcome->body : std::string{}); });
    const std::string text = answer.get();
    const auto numberAfter = [&](const std::string& name) {
      const auto at = text.find('"' + name + "\":\"");
      return at == std::string::npos
                 ? std::string{}
                 : text.substr(at + name.size() + 4, text.find('"', at + name.size() + 4) - at - name.size() - 4);
    };
    return !numberAfter("leader").empty() && numberAfter("leader") == numberAfter("member_id");
  }
  [[nodiscard]] std::size_t leadingMember() {
    std::optional<std::size_t> found;
    EXPECT_TRUE(eventually([&] {
      for (std::size_t i = 0; i < cluster_.size() && !found; ++i) {
        if (leadsCluster(i)) found = i;
      }
      return found.has_value();
    })) << "no member leads";
    return found.value_or(0);
  }

  void lose(std::size_t member, bool kills) { kills ? cluster_.kill(member) : cluster_.freeze(member); }
  void giveBack(std::size_t member, bool kills) { kills ? cluster_.restart(member) : cluster_.thaw(member); }

  /// The others choose another leader, and the candidates find it.
  void loseLeadingMember(bool kills) {
    const std::size_t victim = leadingMember();
    lose(victim, kills);
    const auto start = Clock::now();
    EXPECT_TRUE(eventually([&] { return writtenSince(start); })) << "without one member nobody can write";
    worstWithoutOne_ = std::max<Seconds>(worstWithoutOne_, Clock::now() - start);
    giveBack(victim, kills);
  }

  /// Without a quorum no renewal succeeds. The term ends one lease after the last renewal that did, at the latest.
  void loseQuorum(bool kills) {
    const std::size_t first = leadingMember();
    const std::size_t second = (first + 1) % cluster_.size();
    for (const std::size_t member : {first, second}) lose(member, kills);
    const auto start = Clock::now();
    EXPECT_TRUE(eventually([&] { return !somebodyLeads(); }, lease + 200ms)) << "a term outlasts its lease";
    EXPECT_TRUE(eventually([&] { return !somebodyWasTold(); }, 1s)) << "the loss was not told";
    worstLoss_ = std::max<Seconds>(worstLoss_, Clock::now() - start);
    EXPECT_FALSE(somebodyLeads());
    for (const std::size_t member : {first, second}) giveBack(member, kills);
  }

  test::EtcdCluster cluster_{{"--members", "3"}};
  std::vector<std::shared_ptr<Gateway>> members_{};
  Judge judge_;
  std::atomic<bool> over_{false};
  std::vector<std::unique_ptr<Candidate>> candidates_{};
  std::thread watcher_{};
  const std::chrono::milliseconds leadsFor_{LeaseTiming::from({.duration = lease}).value().leadsFor()};
  Seconds worstWithoutOne_{0}, worstLoss_{0}, worstReturn_{0};
};

TEST_F(Storm, neverTwoLeadersTokensRiseAndEachLossIsToldInTime) {
  const char* wanted = std::getenv("TENURE_ETCD_STORM");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 4;
  for (int round = 0; round < rounds && judge_.wrong().empty() && !HasFailure(); ++round) {
    ASSERT_TRUE(eventually([&] { return somebodyLeads(); })) << "round " << round;
    const bool kills = round % 2 == 0;
    round % 4 < 2 ? loseLeadingMember(kills) : loseQuorum(kills);
    const auto start = Clock::now();
    ASSERT_TRUE(eventually([&] { return somebodyLeads(); })) << "round " << round;
    worstReturn_ = std::max<Seconds>(worstReturn_, Clock::now() - start);
  }
  end();
  judge_.expectAllRevoked();
  for (const std::string& what : judge_.wrong()) ADD_FAILURE() << what;
  std::cout << rounds << " rounds, " << judge_.elections() << " elections; lease " << Seconds{lease}.count()
            << " s; without one member somebody renewed or was elected within " << worstWithoutOne_.count()
            << " s, a loss of quorum was told after at most " << worstLoss_.count() << " s, and somebody led within "
            << worstReturn_.count() << " s after the members' return; each term was told to stop at least "
            << judge_.leastBefore().count() << " s before its right ended\n";
}

}  // namespace
}  // namespace tenure::etcd_store
