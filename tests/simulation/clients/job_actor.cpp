// Copies of a program with a SingletonScheduler, and the rules of its runs.
#include <algorithm>
#include <list>
#include <stdexcept>

#include <tenure/jobs/singleton_scheduler.hpp>

#include "election/jobs/src/jobs_in_document.hpp"
#include "simulation/clients/side_thread.hpp"
#include "simulation/clients/world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class JobActor final : public Actor {
 public:
  explicit JobActor(Life& life) : life_{life}, world_{life.world}, threads_{world_, life} { make(); }

  void act() override {
    if (!jobs_) return make();
    if (world_.happens(Disturbance::stepDown)) jobs_->stepDown("for a while");
    if (world_.happens(Disturbance::stop)) stopping_ = true, jobs_->requestStop();
    // Inside the wait of a callback this would be a thread of the library.
    if (stopping_ && world_.depth() == 0 && world_.load.chance(0.3)) destroy();
  }
  void leave() override {
    if (jobs_) jobs_->requestStop();
    stopping_ = true;
  }
  [[nodiscard]] bool ended() const override {
    const auto record = world_.recordOf({"jobs"});
    return running_.empty() && (!record || record->released || record->holder.find(life_.name + '#') != 0);
  }
  void drop() override {
    for (const auto& [job, run] : running_) world_.jobs().dies(job, run);
    threads_.wakeAll();
    jobs_.reset();
  }
  void applied(const WriteRequest& request, FencingToken token) override {
    if (request.purpose != WriteRequest::Purpose::release) return;
    // No work goes on, and the record says how each run has ended.
    const auto record = world_.recordOf(request.key);
    const auto document = jobsIn(record->data).value();
    for (const auto& [name, runs] : document.jobs) {
      const auto& open = runs.history().open;
      if (!open || open->token != token || open->ended) continue;
      if (isRunning(name)) world_.broke("release", life_.name + " releases while " + name + " runs");
      if (world_.draws(Disturbance::refusePayload)) {
        world_.met("jobEndRefused");
      } else {
        world_.broke("kept", life_.name + " releases, and the record does not have how " + name + " ended");
      }
    }
  }

 private:
  void make() {
    stopping_ = false;
    GroupOptions options;
    options.group = "jobs";
    options.candidate.id = life_.name;
    options.lease = world_.lease();
    loop_ = world_.makeLoop(life_);
    std::vector<ScheduledJob> jobs;
    for (std::size_t i = 0; i < jobKinds().size(); ++i) {
      const JobKind& kind = jobKinds()[i];
      jobs.push_back(
          {kind.name, kind.schedule, kind.policy, kind.overlap, [this, i](const JobRun& run) { work(i, run); }});
    }
    const Executor executor = world_.executor(life_);
    Runtime runtime{loop_,
                    [this, executor](std::function<void()> task) {
                      executor([this, task = std::move(task)] { life_.alive ? threads_.run(task) : task(); });
                    },
                    std::make_unique<SeededRandom>(world_.process.next())};
    jobs_ = std::make_unique<SingletonScheduler>(
        Group::make(options, life_.store, world_.logger()).value(), std::move(jobs),
        SingletonScheduler::Options{[this] { return world_.wall(life_); }}, std::move(runtime));
    jobs_->start();
  }
  void destroy() {
    jobs_.reset();
    if (!life_.alive) return;
    world_.met("jobsDestroyed");
    loop_->closed = true;
  }

  void work(std::size_t job, const JobRun& run) {
    if (!life_.alive) return;
    world_.note(life_.name, "begins " + run.job + ' ' + std::to_string(run.period.time_since_epoch().count()) + " #" +
                                std::to_string(run.attempt));
    if (world_.onLoop()) world_.broke("thread", "work on a scheduler");
    world_.met("jobBegun");
    if (run.attempt > 1) world_.met("jobRepeated");
    if (!run.term.leads()) world_.broke("leads", run.job + " begins, and its term does not lead");
    checkRecord(run);
    world_.jobs().begins(job, run, world_.wallReading(life_));
    const auto own = running_.emplace(running_.end(), job, run);
    const bool isLong = jobKinds()[job].overlap == Overlap::replace && world_.load.below(10) == 0;
    TrueTime left = world_.upTo(isLong ? TrueTime{15min} : TrueTime{5s});
    while (left > TrueTime{0} && !run.stop.stop_requested() && life_.alive) {
      const TrueTime step = std::min<TrueTime>(left, 1s);
      threads_.sleep(step);
      left -= step;
    }
    if (!life_.alive) return;
    running_.erase(own);
    const bool stopped = run.stop.stop_requested(), fails = !stopped && world_.load.below(8) == 0 && !world_.calm();
    if (stopped) world_.met("jobStopped");
    world_.jobs().ends(job, run, !stopped && !fails);
    world_.note(life_.name, "ends " + run.job);
    if (fails) throw std::runtime_error{"the work"};
  }
  /// It starts only once the record has it.
  void checkRecord(const JobRun& run) {
    const auto record = world_.recordOf({"jobs"});
    if (!record || record->token != run.term.fencingToken()) return;
    const auto document = jobsIn(record->data).value();
    const auto found = document.jobs.find(run.job);
    const auto open = found == document.jobs.end() ? std::nullopt : found->second.history().open;
    if (!open || open->period != run.period || open->attempt != run.attempt || open->token != record->token)
      world_.broke("recorded", run.job + " begins, and the record does not have it");
  }
  [[nodiscard]] bool isRunning(const std::string& name) const {
    for (const auto& [job, run] : running_) {
      if (run.job == name) return true;
    }
    return false;
  }

  Life& life_;
  World& world_;
  SideThreads threads_;
  std::shared_ptr<Loop> loop_{};
  std::list<std::pair<std::size_t, JobRun>> running_{};
  std::unique_ptr<SingletonScheduler> jobs_{};
  bool stopping_{false};
};

}  // namespace

std::unique_ptr<Actor> makeJobActor(Life& life) { return std::make_unique<JobActor>(life); }

}  // namespace tenure::test
