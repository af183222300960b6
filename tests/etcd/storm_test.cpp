// Candidates over three real members, which are killed, frozen and started again: never two valid leaders, tokens rise
// strictly, and each loss is told in time. TENURE_ETCD_STORM: how many rounds (12).
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>

#include "etcd/etcd_cluster.hpp"
#include "lockcore/stores/etcd/src/link/http_gateway.hpp"
#include "lockcore/stores/etcd/src/store.hpp"
#include "support/eventually.hpp"

namespace tenure::etcd_store {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto lease = 3s;
constexpr test::Eventually eventually{40s};

/// What all candidates saw, and whether it may be so.
class Judge {
 public:
  void elected(FencingToken token) {
    const std::lock_guard lock{mutex_};
    if (!(last_ < token)) wrong_.push_back("token " + toString(token) + " after " + toString(last_));
    last_ = std::max(last_, token);
    ++elections_;
  }
  void wrong(const std::string& what) {
    const std::lock_guard lock{mutex_};
    if (wrong_.size() < 20) wrong_.push_back(what);
  }
  [[nodiscard]] std::vector<std::string> wrong() {
    const std::lock_guard lock{mutex_};
    return wrong_;
  }
  [[nodiscard]] int elections() {
    const std::lock_guard lock{mutex_};
    return elections_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> wrong_{};  ///< guarded by the mutex, as the others
  FencingToken last_{};
  int elections_{0};
};

/// With a store object of its own, as in a process of its own. It leads from onElected to onRevoked.
class Candidate {
 public:
  Candidate(const test::EtcdCluster& cluster, Judge& judge, int number)
      : elector_{
            Group::make(
                {.group = "storm", .candidate = {.id = "c" + std::to_string(number)}, .lease = {.duration = lease}},
                makeStore("/storm", {makeHttpGateway({.endpoints = cluster.endpoints()}, {}), {}, sharedScheduler()}))
                .value(),
            {.onElected =
                 [this, &judge](const Leadership& term) {
                   judge.elected(term.fencingToken());
                   told_ = true;
                 },
             .onRevoked = [this](const TermEnd&) { told_ = false; }}} {
    elector_.start();
  }
  [[nodiscard]] bool leads() const { return elector_.isLeader(); }
  /// What its callbacks say.
  [[nodiscard]] bool told() const { return told_; }
  [[nodiscard]] std::optional<FencingToken> token() const { return elector_.fencingToken(); }

 private:
  std::atomic<bool> told_{false};
  LeaderElector elector_;
};

class Storm : public testing::Test {
 protected:
  Storm() {
    for (int i = 0; i < 4; ++i) candidates_.push_back(std::make_unique<Candidate>(cluster_, judge_, i));
    watcher_ = std::thread{[this] { watch(); }};
  }
  ~Storm() override {
    over_ = true;
    watcher_.join();
    for (std::size_t i = 0; i < cluster_.size(); ++i) cluster_.thaw(i);
  }

  /// One is seen leading, then another, then the first one in the same term: both led at the moment in between.
  void watch() {
    const auto look = [this] {
      for (const auto& one : candidates_) {
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

  void loseOne(bool kills) {
    const std::size_t victim = random_() % 3;
    kills ? cluster_.kill(victim) : cluster_.freeze(victim);
    // A member that was killed is missed by a renewal at most.
    const auto start = Clock::now();
    EXPECT_FALSE(eventually([&] { return !judge_.wrong().empty(); }, 2 * lease));
    EXPECT_TRUE(eventually([&] { return somebodyLeads(); }));
    worstGap_ = std::max<std::chrono::duration<double>>(worstGap_, Clock::now() - start - 2 * lease);
    kills ? cluster_.restart(victim) : cluster_.thaw(victim);
  }

  /// Without a quorum no renewal succeeds. The term ends one lease after the last renewal that did, at the latest.
  void loseQuorum(bool kills) {
    const std::size_t spared = random_() % 3;
    for (std::size_t i = 0; i < 3; ++i) {
      if (i != spared) kills ? cluster_.kill(i) : cluster_.freeze(i);
    }
    const auto start = Clock::now();
    EXPECT_TRUE(eventually([&] { return !somebodyLeads(); }, lease + 500ms)) << "a term outlasts its lease";
    EXPECT_TRUE(eventually([&] { return !somebodyWasTold(); }, 1s)) << "the loss was not told";
    worstLoss_ = std::max<std::chrono::duration<double>>(worstLoss_, Clock::now() - start);
    EXPECT_FALSE(somebodyLeads());
    for (std::size_t i = 0; i < 3; ++i) {
      if (i != spared) kills ? cluster_.restart(i) : cluster_.thaw(i);
    }
  }

  std::mt19937 random_{7};
  test::EtcdCluster cluster_{{"--members", "3"}};
  Judge judge_;
  std::atomic<bool> over_{false};
  std::vector<std::unique_ptr<Candidate>> candidates_{};
  std::thread watcher_{};
  std::chrono::duration<double> worstGap_{0};
  std::chrono::duration<double> worstLoss_{0};
  std::chrono::duration<double> worstReturn_{0};
};

TEST_F(Storm, neverTwoLeadersTokensRiseAndEachLossIsTold) {
  const char* wanted = std::getenv("TENURE_ETCD_STORM");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 12;
  for (int round = 0; round < rounds && judge_.wrong().empty() && !HasFailure(); ++round) {
    ASSERT_TRUE(eventually([&] { return somebodyLeads(); })) << "round " << round;
    if (round % 4 < 2) {
      loseOne(round % 2 == 0);
    } else {
      loseQuorum(round % 2 == 0);
    }
    const auto start = Clock::now();
    ASSERT_TRUE(eventually([&] { return somebodyLeads(); })) << "round " << round;
    worstReturn_ = std::max<std::chrono::duration<double>>(worstReturn_, Clock::now() - start);
  }
  for (const std::string& what : judge_.wrong()) ADD_FAILURE() << what;
  std::cout << rounds << " rounds, " << judge_.elections() << " elections; a loss of quorum was told after at most "
            << worstLoss_.count() << " s (lease " << std::chrono::duration<double>{lease}.count()
            << " s), after the last member's return somebody led within " << worstReturn_.count()
            << " s, with one member lost within " << worstGap_.count() << " s after two leases\n";
}

}  // namespace
}  // namespace tenure::etcd_store
