// A stage for what runs jobs: wall clocks that the test sets, and schedulers with threads of the library.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenure/jobs/singleton_scheduler.hpp>

#include "election/jobs/src/jobs_in_document.hpp"
#include "election/stage.hpp"
#include "job_times.hpp"
#include "support/data_refusing_store.hpp"

namespace tenure::test {

/// Its wall clock goes with the manual clock. It shows 2026-03-01T12:00Z at first.
class JobsStage : public Stage {
 public:
  [[nodiscard]] std::chrono::sys_seconds wall() const {
    return std::chrono::floor<std::chrono::seconds>(epoch_ + clock->now().boottime + ahead_.load());
  }
  [[nodiscard]] WallClock wallClock() {
    return [this] { return wall(); };
  }
  void setWallAhead(std::chrono::nanoseconds by) { ahead_ = by; }

  struct Delete {
    JobsStage* stage;
    void operator()(SingletonScheduler* jobs) const {
      std::unique_ptr<SingletonScheduler> owned{jobs};
      stage->drive<bool>([&] { return owned.reset(), true; }, std::chrono::milliseconds{10});
    }
  };
  struct Copy {
    std::shared_ptr<FaultStore> store;
    std::unique_ptr<SingletonScheduler, Delete> jobs;
    SingletonScheduler* operator->() const { return jobs.get(); }
  };
  /// Started. Works on threads of the library.
  [[nodiscard]] Copy copy(const std::string& name, std::vector<ScheduledJob> jobs, const Adjust& adjust = {},
                          const std::shared_ptr<LeaseStore>& behind = {}) {
    auto store = std::make_shared<FaultStore>(behind ? behind : memory, clock);
    Runtime where = runtime();
    where.executor = {};
    auto made = std::make_unique<SingletonScheduler>(group(name, store, adjust), std::move(jobs),
                                                     SingletonScheduler::Options{wallClock()}, std::move(where));
    made->start();
    return {std::move(store), {made.release(), Delete{this}}};
  }
  ReleaseResult stop(const Copy& copy) {
    return drive<ReleaseResult>([&] { return copy->stop(); }, std::chrono::milliseconds{1});
  }
  using Stage::stop;

  /// Goes on until `done`, 20 ms for each look.
  template <class Condition>
  [[nodiscard]] bool until(const Condition& done) {
    return eventually([&] { return advance(std::chrono::milliseconds{20}), done(); });
  }
  /// What the record says of a job.
  [[nodiscard]] JobHistory recorded(const std::string& job = "job") {
    const auto record = stored();
    const auto jobs = jobsIn(record ? record->data : std::string{});
    const auto found = jobs.value().jobs.find(job);
    return found == jobs.value().jobs.end() ? JobHistory{} : found->second.history();
  }
  void put(const std::string& data) {
    WriteRequest request{key, WriteRequest::Purpose::acquire, {}, {}};
    if (const auto present = stored()) request.expected = {present->version};
    request.record.holder = "somebody";
    request.record.version = RecordVersion{"put"};
    request.record.leaseDuration = std::chrono::milliseconds{3000};
    request.record.released = true;
    request.record.data = data;
    memory->write(std::move(request), {}, [](const WriteOutcome&) {});
    settle();
  }

 private:
  const std::chrono::sys_seconds epoch_{instant("2026-03-01T09:00Z")};
  std::atomic<std::chrono::nanoseconds> ahead_{std::chrono::nanoseconds{0}};
};

[[nodiscard]] inline Schedule everyMinute() { return Schedule::every(std::chrono::minutes{1}).value(); }

}  // namespace tenure::test
