// The rule for a missing database, among processes whose clocks drift: no two of them may believe that they lead. A
// seed decides the order of steps; tests/model/database.pml checks all orders, with clocks that count in ticks.
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_options.hpp>

#include "lockcore/stores/sqlite/src/new_database_rule.hpp"
#include "simulation/sim_clock.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using sqlite_store::NewDatabaseRule;
using std::chrono::milliseconds;

constexpr double rateBound = 500e-6;  // what the default guard covers
constexpr int noFile = 0;

struct World {
  SeededRandom random;
  TrueTime now{0};
  int path{noFile};  // the file that the path names
  int made{0};
  std::string mark{"none"};
  const void* maker{nullptr};  // the process that has the lock for creating a database
  bool waits{true};            // false: broken on purpose
  int madeAfterAWait{0};
  int terms{0};
};

enum class Write { none, stated, committed, looked };
enum class Making { no, locked, missed, read, marked };

struct Belief {
  Instant since;
  milliseconds lease;
};

/// One process. Each call of act() is one step of the rule; between two of them anything may happen.
class Process {
 public:
  explicit Process(World& world)
      : world_{&world}, clock_{world.random, world.now, ClockRates::draw(world.random, rateBound, true)} {}

  [[nodiscard]] bool believes() const { return belief_ && lasts(*belief_); }
  [[nodiscard]] milliseconds stated() const { return stated_; }
  /// A term of this process, in the file that the path names, may still last.
  [[nodiscard]] bool blocks() const {
    if (file_ != world_->path) return false;
    return believes() || (write_ >= Write::committed && lasts({sentAt_, asked_}));
  }

  void act(const std::vector<Process*>& all) {
    if (making_ != Making::no) return make(all);
    if (file_ == noFile) return find();
    write(all);
  }
  void die() {
    if (world_->maker == this) world_->maker = nullptr;
    *this = Process{*world_};
  }

 private:
  [[nodiscard]] Instant local() const { return clock_.at(world_->now); }
  [[nodiscard]] bool lasts(const Belief& belief) const {
    LeaseOptions options;
    options.duration = belief.lease;
    return elapsedForHolder(belief.since, local()) < LeaseTiming::from(options).value().validFor();
  }

  void find() {
    if (world_->path != noFile) {
      file_ = world_->path;
      return rule_.sawOne();
    }
    if (world_->maker != nullptr) return;
    world_->maker = this;
    sawMark_ = world_->mark;  // N1
    making_ = Making::locked;
  }

  void make(const std::vector<Process*>& all) {
    switch (making_) {
      case Making::locked:
        if (world_->path != noFile) return endMaking();
        making_ = Making::missed;
        return;
      case Making::missed:
        rule_.sawNone(local(), sawMark_);  // N2
        making_ = Making::read;
        return;
      case Making::read:
        longest_ = 0ms;
        for (const Process* other : all) {
          if (other != this) longest_ = std::max(longest_, other->stated());  // N3
        }
        if (world_->waits && rule_.left(local(), longest_) > 0ns) return endMaking();  // N4
        world_->mark = std::to_string(world_->random.next());                          // N5
        making_ = Making::marked;
        return;
      case Making::marked:
        world_->path = file_ = ++world_->made;
        if (longest_ > 0ms) ++world_->madeAfterAWait;
        rule_.sawOne();
        return endMaking();
      case Making::no:
        return;
    }
  }
  void endMaking() {
    making_ = Making::no;
    world_->maker = nullptr;
  }

  void write(const std::vector<Process*>& all) {
    switch (write_) {
      case Write::none:
        sentAt_ = local();
        asked_ = (believes() ? belief_->lease : 1000ms) + milliseconds{world_->random.chance(0.1) ? 1500 : 0};
        asked_ = std::min(asked_, 4000ms);
        stated_ = std::max(stated_, asked_);  // H1
        write_ = Write::stated;
        return;
      case Write::stated: {
        const bool taken =
            std::any_of(all.begin(), all.end(), [&](const Process* p) { return p != this && p->blocks(); });
        write_ = file_ == world_->path && taken && !believes() ? Write::none : Write::committed;  // H2
        return;
      }
      case Write::committed:
        write_ = file_ == world_->path ? Write::looked : Write::none;  // H3
        if (write_ == Write::looked) return;
        belief_.reset();
        file_ = noFile;
        return;
      case Write::looked:
        write_ = Write::none;
        belief_.reset();
        if (lasts({sentAt_, asked_})) {  // H4
          belief_ = Belief{sentAt_, asked_};
          ++world_->terms;
        }
        return;
    }
  }

  World* world_;
  SimClock clock_;
  NewDatabaseRule rule_{};
  std::optional<Belief> belief_{};
  milliseconds stated_{0}, asked_{0}, longest_{0};
  int file_{noFile};
  Write write_{Write::none};
  Instant sentAt_{};
  Making making_{Making::no};
  std::string sawMark_{};
};

/// The greatest number of processes that ever believed that they lead at the same time.
std::size_t mostBelievers(World& world, int moves) {
  std::vector<Process> processes;
  processes.reserve(3);
  for (int i = 0; i < 3; ++i) processes.emplace_back(world);
  std::vector<Process*> all;
  for (Process& p : processes) all.push_back(&p);
  std::size_t most = 0;
  // One process may be stopped in the middle of a step for a long time, while the others continue.
  Process* stopped = nullptr;
  for (int i = 0; i < moves; ++i) {
    world.now += TrueTime{static_cast<std::int64_t>(world.random.below(40'000'000))};
    if (world.random.chance(0.01)) stopped = all[world.random.below(3)];
    if (world.random.chance(0.01)) stopped = nullptr;
    if (world.random.chance(0.01)) world.path = noFile;  // somebody deletes the database
    Process* one = all[world.random.below(3)];
    if (world.random.chance(0.002)) one->die();
    if (one != stopped) one->act(all);
    const auto believers = std::count_if(all.begin(), all.end(), [](const Process* p) { return p->believes(); });
    most = std::max(most, static_cast<std::size_t>(believers));
  }
  return most;
}

TEST(NewDatabaseWorld, noTwoBelieveWhateverIsDeletedWhen) {
  int made = 0;
  int terms = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    World world{.random = SeededRandom{seed}};
    ASSERT_EQ(mostBelievers(world, 4000), 1U) << "seed " << seed;
    made += world.madeAfterAWait;
    terms += world.terms;
  }
  EXPECT_GT(made, 300) << "databases made beside processes that may have held a lease";
  EXPECT_GT(terms, 3000);
}

TEST(NewDatabaseWorld, seesThatNobodyWaits) {
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world{.random = SeededRandom{seed}, .waits = false};
    seen += mostBelievers(world, 4000) > 1 ? 1 : 0;
  }
  EXPECT_GT(seen, 10);
}

}  // namespace
}  // namespace tenure::test
