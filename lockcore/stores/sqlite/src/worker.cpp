#include "worker.hpp"

#include <system_error>
#include <utility>

#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/thread.hpp"

namespace tenure::sqlite_store {
namespace {

StoreError timeOver(const std::string& store, const Deadline& deadline) {
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(deadline.timeout()).count();
  return {ErrorClass::transient, store + ": the call's time of " + std::to_string(millis) +
                                     " ms was over before its turn came; it was not attempted"};
}

StoreError storeGone(const std::string& store) {
  return {ErrorClass::transient, store + ": the store was closed before the call's turn came; it was not attempted"};
}

}  // namespace

Worker::Worker(const char* name, Session::Options options, Logger logger, Together together)
    : name_{name}, logger_{std::move(logger)}, core_{std::make_shared<Core>(std::move(options), std::move(together))} {}

void Worker::post(Job job) {
  if (!started_.load(std::memory_order_acquire)) startThread();
  // The job's handler may destroy the store: after the push this object may be gone.
  const std::shared_ptr<Core> core = core_;
  {
    std::unique_lock lock{core->mutex};
    if (core->stopping.load()) {
      lock.unlock();  // the answer is the caller's code
      return job.refuse(storeGone(core->options.store));
    }
    core->jobs.push(std::move(job));
  }
  core->changed.notify_one();
}

void Worker::startThread() {
  const std::lock_guard lock{threadMutex_};
  if (started_.load(std::memory_order_relaxed) || core_->stopping.load()) return;
  try {
    thread_ = detail::startThread(name_, [core = core_] { run(*core); });
    started_.store(true, std::memory_order_release);
  } catch (const std::system_error& fault) {
    // The job stays queued, because no caller may be answered inside its call; the next call tries again.
    if (std::exchange(toldOfNone_, true)) return;
    logger_.log(LogLevel::error, core_->options.store + ": no thread can be started (" + errnoText(fault.code()) +
                                     "), so calls wait until there is one; raise the limit of processes (ulimit -u, "
                                     "TasksMax= of the unit, pids.max of the cgroup)");
  }
}

void Worker::run(Core& core) {
  Session session{core.options, core.stopping, [&core] {
                    if (const auto peer = core.peer.lock()) letLook(*peer);
                  }};
  for (;;) {
    std::vector<Job> jobs;
    {
      std::unique_lock lock{core.mutex};
      core.changed.wait(lock, [&] { return core.stopping.load() || core.mustLook || !core.jobs.empty(); });
      if (core.stopping.load()) break;
      if (std::exchange(core.mustLook, false)) {
        lock.unlock();
        session.dropIfFilesChanged();
        continue;
      }
      jobs = core.jobs.take();
    }
    if (jobs.size() == 1) {
      perform(core, session, jobs.front());
    } else {
      performTogether(core, session, jobs);
    }
  }
  session.close();
  refuseAll(core);
}

void Worker::perform(Core& core, Session& session, const Job& job) {
  if (job.deadline.passed()) return job.refuse(timeOver(core.options.store, job.deadline));
  const BusyWait::Guard guard{session.busyWait(), job.deadline};
  job.run(session, job.deadline);
}

void Worker::performTogether(Core& core, Session& session, const std::vector<Job>& jobs) {
  std::vector<BatchedWrite> batch;
  std::vector<const Job*> inTime;
  for (const Job& job : jobs) {
    if (job.deadline.passed()) {
      job.refuse(timeOver(core.options.store, job.deadline));
      continue;
    }
    batch.push_back({*job.batched, job.deadline});
    inTime.push_back(&job);
  }
  if (batch.empty()) return;
  std::vector<WriteOutcome> outcomes = core.together(session, batch);
  for (std::size_t i = 0; i < outcomes.size(); ++i) inTime[i]->answer(session, std::move(outcomes[i]));
}

void Worker::makePeers(Worker& one, Worker& other) {
  one.core_->peer = other.core_;
  other.core_->peer = one.core_;
}

void Worker::letLook(Core& core) {
  {
    const std::lock_guard lock{core.mutex};
    core.mustLook = true;
  }
  core.changed.notify_one();
}

void Worker::refuseAll(Core& core) {
  std::vector<Job> left;
  {
    const std::lock_guard lock{core.mutex};
    left = core.jobs.takeAll();
  }
  for (const Job& job : left) job.refuse(storeGone(core.options.store));
}

void Worker::stop() {
  {
    const std::lock_guard lock{core_->mutex};
    core_->stopping.store(true);
  }
  core_->changed.notify_one();
  std::thread ending;
  {
    const std::lock_guard lock{threadMutex_};
    ending.swap(thread_);
  }
  if (!ending.joinable()) {
    refuseAll(*core_);  // there never was a thread to do it
  } else {
    detail::leaveThread(ending);
  }
}

}  // namespace tenure::sqlite_store
