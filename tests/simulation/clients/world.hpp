// The world of one run: true time, processes, the table behind their stores, and the judge.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/stores/memory/src/memory_table.hpp"
#include "simulation/clients/client_sim.hpp"
#include "simulation/clients/job_judge.hpp"
#include "simulation/clients/virtual_system.hpp"
#include "simulation/sim_clock.hpp"
#include "simulation/sim_queue.hpp"

namespace tenure::test {

class World;
class Loop;

/// A user of one object of the library.
class Actor {
 public:
  virtual ~Actor() = default;
  virtual void act() = 0;                                     ///< does something random, on a thread of the user
  virtual void leave() = 0;                                   ///< the end comes: stop properly
  [[nodiscard]] virtual bool ended() const = 0;               ///< after leave(): nothing is under way any more
  virtual void drop() = 0;                                    ///< the process is gone
  virtual void applied(const WriteRequest&, FencingToken) {}  ///< a write of this actor's process was applied
  virtual void sent(const WriteRequest&) {}
  [[nodiscard]] virtual std::string leads() const { return {}; }  ///< keys, for the checks of balance and liveness
};

/// A process from its start to its death.
class Life {
 public:
  Life(World& world, unsigned process, unsigned number);

  World& world;
  const unsigned process;
  const std::string name;
  SimClock clock;
  bool alive{true};
  TrueTime pausedUntil{0}, paused{0}, outageUntil{0};
  std::chrono::nanoseconds beyond{0};  ///< how far the clock of a dead process has run on
  std::shared_ptr<LeaseStore> store;
  std::vector<std::shared_ptr<Loop>> loops{};
  std::map<std::uint64_t, std::function<void()>> callbacks{};  ///< given to an executor
  std::vector<std::unique_ptr<Actor>> actors{};

  [[nodiscard]] Instant now() const;
};

/// A scheduler for one object. Several of a process share its clock.
class Loop final : public Scheduler, public std::enable_shared_from_this<Loop> {
 public:
  explicit Loop(Life& life);
  [[nodiscard]] std::shared_ptr<const Clock> clock() const override { return clock_; }
  [[nodiscard]] Instant now() const noexcept override { return clock_->now(); }
  void post(Task task) override;
  TimerId schedule(std::chrono::nanoseconds delay, Task task) override;
  void cancel(TimerId id) noexcept override { timers_.erase(id); }
  /// True in a dead process, where nobody may wait for anything.
  [[nodiscard]] bool isCurrent() const noexcept override;

  /// No task may come any more: its owner is destroyed.
  bool closed{false};
  /// Runs one task of a dead process, however late it is due; false: there is none.
  bool runOne();
  void clear() { posted_.clear(), timers_.clear(); }

 private:
  void touch();
  void runPosted();
  void runTimer(TimerId id);

  Life& life_;
  const std::shared_ptr<const Clock> clock_;
  std::deque<Task> posted_{};
  struct Timer {
    std::chrono::nanoseconds due;
    Task task;
  };
  std::map<TimerId, Timer> timers_{};
  TimerId last_{0};
};

/// A term or a lock in which its holder may believe.
struct Handle {
  Life* life;
  LeaseKey key;
  FencingToken token;
  std::string holder;
  std::function<bool()> valid;  ///< by the clock of its process
  std::function<bool()> leads;
};

struct ClientPlan {
  std::chrono::milliseconds lease{1000};
  unsigned processes{2};
  unsigned electors{0}, clients{0}, tokens{0}, sharded{0};  ///< in each process
  bool jobs{false};
  bool together{false};  ///< the store keeps the leases of a group together, as DynamoDB does with a sort key
  TrueTime leastDelay{0}, mostDelay{0};
  double rateBound{500e-6};
  std::array<double, disturbances> rates{};
};

class World final : public VirtualSystem {
 public:
  explicit World(const ClientOptions& options);
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ClientReport run();

  [[nodiscard]] TrueTime now() const noexcept { return now_; }
  [[nodiscard]] const ClientPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] LeaseOptions lease() const;
  [[nodiscard]] bool calm() const noexcept { return calm_; }
  /// How long nothing at all ran, because a reading of a clock took so long.
  [[nodiscard]] TrueTime stoodStill() const noexcept { return stoodStill_; }
  [[nodiscard]] bool happens(Disturbance disturbance);
  [[nodiscard]] bool draws(Disturbance disturbance) const {
    return plan_.rates[static_cast<std::size_t>(disturbance)] > 0;
  }
  /// Uniform in [0, most].
  [[nodiscard]] TrueTime upTo(TrueTime most) {
    return TrueTime{load.below(static_cast<std::uint64_t>(most.count()) + 1)};
  }
  [[nodiscard]] TrueTime message();
  void at(TrueTime delay, std::function<void()> task) { queue_.push(now_ + delay, std::move(task)); }
  /// Runs a task in a process: later if the process is paused, never if it is dead. `loop`: the scheduler of the task.
  void in(Life& life, TrueTime delay, const Loop* loop, std::function<void()> task);
  [[nodiscard]] Executor executor(Life& life, std::shared_ptr<unsigned> open = std::make_shared<unsigned>(0));
  [[nodiscard]] std::shared_ptr<Loop> makeLoop(Life& life);
  [[nodiscard]] bool onLoop() const noexcept { return loop_ != nullptr; }
  [[nodiscard]] const Loop* loop() const noexcept { return loop_; }
  [[nodiscard]] unsigned depth() const noexcept { return depth_; }
  /// Changes when one call waits inside the wait of another, which delays the return of the outer one.
  [[nodiscard]] std::uint64_t nested() const noexcept { return nested_; }
  [[nodiscard]] Logger logger();
  /// What the wall clock of a process shows.
  [[nodiscard]] std::chrono::sys_seconds wall(const Life& life) const { return trueWall() + wallAhead_[life.process]; }
  [[nodiscard]] WallReading wallReading(const Life& life) const;
  [[nodiscard]] JobJudge& jobs() noexcept { return judgeOfJobs_; }
  WriteOutcome apply(Life& life, const WriteRequest& request, std::set<std::string>* allowed = nullptr);
  WriteOutcome requestStepDown(const LeaseKey& key, const StepDownRequest& request) {
    return table_.change(key, [&](const stored::StoredLease& lease) { return stored::decideStepDown(request, lease); });
  }
  [[nodiscard]] MemoryTable& table() noexcept { return table_; }
  [[nodiscard]] std::optional<LeaseRecord> recordOf(const LeaseKey& key) const {
    return table_.at(key).answer().value();
  }
  void readTakesTime();
  /// A reader is stopped before it has read the term: its answer must still be true afterwards.
  void readInterrupted(const Handle& handle);

  void note(std::string_view who, const std::string& what);
  void broke(std::string_view oracle, const std::string& what);
  void met(std::string_view point) { ++report_.points[point]; }
  void believe(Handle handle) { handles_.push_back(std::move(handle)); }
  [[nodiscard]] bool wasWritten(const RecordVersion& version) const { return versions_.count(version.text()) != 0; }

  /// True if the same holder has written another version over it.
  [[nodiscard]] bool wasOverwritten(const RecordVersion& version) const {
    return overwritten_.count(version.text()) != 0;
  }
  /// Code in its scope acts as a thread of this process.
  class Inside {
   public:
    Inside(World& world, Life& life) : world_{world}, before_{std::exchange(world.current_, &life)} {}
    ~Inside() { world_.current_ = before_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    World& world_;
    Life* const before_;
  };

  // VirtualSystem.
  [[nodiscard]] Instant processClock() noexcept override;
  [[nodiscard]] const std::string& processBoot() noexcept override;
  [[nodiscard]] std::uint64_t entropy() noexcept override { return process.next(); }
  void runApart(std::function<void()> task) override;
  void interruption() noexcept override;
  [[nodiscard]] TrueTime endOf(std::chrono::nanoseconds patience) override;
  [[nodiscard]] bool passOne(TrueTime end) override;

  SeededRandom load, network, process;
  /// the versions that the blocking call of this moment may replace; null: other rules judge its writes
  std::shared_ptr<std::set<std::string>> frame{};
  std::vector<std::string> tokenTexts{};  ///< lock tokens that pass from one user to another

 private:
  void standStill(TrueTime d) noexcept;
  void drawPlan(const ClientOptions& options);
  void drawJobs(SeededRandom& plan);
  [[nodiscard]] std::chrono::sys_seconds trueWall() const;
  void setWall(Life& life);
  void awaitJobs();
  void start(unsigned process);
  void actLater(Life& life, Actor& actor);
  void disturbLater();
  void disturb();
  void crash(Life& life);
  void bury(Life& life);
  void step();
  void passTo(TrueTime end);
  void judge();
  void awaitCalm();
  void checkCalm();
  void leave();

  const ClientOptions options_;
  ClientPlan plan_;
  std::vector<SeededRandom> streams_{};
  SimQueue queue_{};
  TrueTime now_{0};
  MemoryTable table_{};
  std::vector<std::unique_ptr<Life>> lives_{};
  std::vector<Life*> present_{};  ///< one for each process
  std::vector<Handle> handles_{};
  std::map<LeaseKey, FencingToken> highest_{};
  std::set<std::string> versions_{}, overwritten_{};
  ClientReport report_{};
  Life* current_{nullptr};
  const Loop* loop_{nullptr};
  unsigned depth_{0};
  std::uint64_t nested_{0};
  bool calm_{false}, leaving_{false}, judging_{false}, over_{false};
  JobJudge judgeOfJobs_{[this](std::string_view oracle, const std::string& what) { broke(oracle, what); }};
  std::array<std::chrono::seconds, 5> wallAhead_{};  ///< of each process
  std::array<TrueTime, 5> wallSet_{};
  TrueTime standstill_{0}, stoodStill_{0};
  std::uint64_t lastCallback_{0};
};

[[nodiscard]] std::shared_ptr<LeaseStore> makeClientStore(World& world, Life& life);
[[nodiscard]] std::unique_ptr<Actor> makeElectorActor(Life& life, const std::string& group);
[[nodiscard]] std::unique_ptr<Actor> makeLockActor(Life& life, const std::string& name);
[[nodiscard]] std::unique_ptr<Actor> makeTokenActor(Life& life);
[[nodiscard]] std::unique_ptr<Actor> makeShardActor(Life& life);
[[nodiscard]] std::unique_ptr<Actor> makeJobActor(Life& life);

}  // namespace tenure::test
