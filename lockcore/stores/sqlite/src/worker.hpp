// A thread with a session of its own, and the queue of calls for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/logger.hpp>

#include "job_queue.hpp"
#include "session.hpp"

namespace tenure::sqlite_store {

/// The thread starts with the first job. All it needs is in a core that the thread shares, so the owner may be
/// destroyed while the thread is still answering.
class Worker {
 public:
  /// Does several writes of one purpose, none of which has run out of time, and returns the outcome of each in order.
  using Together = std::function<std::vector<WriteOutcome>(Session&, const std::vector<BatchedWrite>&)>;

  /// `name`: of the thread, at most 15 characters; a literal. `together` may be empty: then none of those may come.
  Worker(const char* name, Session::Options options, Logger logger, Together together = {});
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// When one of the two finds that the files were exchanged, it makes the other check too. Call it before the first
  /// post().
  static void makePeers(Worker& one, Worker& other);

  /// Any thread. After stop() the job is refused inside the call.
  void post(Job job);

  /// Lets the running job end (its wait for a lock ends at once) and refuses the others. Returns when that is done,
  /// except on the library's own threads; see detail::leaveThread().
  void stop();

 private:
  struct Core {
    Core(Session::Options sessionOptions, Together writeTogether)
        : options{std::move(sessionOptions)}, together{std::move(writeTogether)} {}

    const Session::Options options;
    const Together together;
    std::atomic<bool> stopping{false};
    std::mutex mutex;
    std::condition_variable changed;
    JobQueue jobs;             // guarded by mutex
    bool mustLook{false};      // guarded by mutex
    std::weak_ptr<Core> peer;  // constant after makePeers
  };

  static void run(Core& core);
  static void perform(Core& core, Session& session, const Job& job);
  static void performTogether(Core& core, Session& session, const std::vector<Job>& jobs);
  static void letLook(Core& core);
  static void refuseAll(Core& core);

  void startThread();

  const char* name_;
  const Logger logger_;
  const std::shared_ptr<Core> core_;
  std::atomic<bool> started_{false};
  std::mutex threadMutex_;
  std::thread thread_;      // guarded by threadMutex_, as the next
  bool toldOfNone_{false};  // whether it was logged that no thread is available
};

}  // namespace tenure::sqlite_store
