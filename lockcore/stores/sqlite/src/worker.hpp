// A thread with a session of its own, and the queue of calls before it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <tenure/lockcore/store_error.hpp>

#include "deadline.hpp"
#include "session.hpp"

namespace tenure::sqlite_store {

/// One call. Exactly one of the functions is called, once, on the worker's thread (or in stop() if that thread never
/// came to be).
struct Job {
  Deadline deadline;
  std::function<void(Session&, const Deadline&)> run;
  std::function<void(StoreError)> refuse;  ///< its time passed in the queue, or the store is gone
};

/// The thread starts with the first job. All it needs lives in a core that the thread shares, so that the owner may go
/// away while the thread is still answering.
class Worker {
 public:
  /// `name`: of the thread, at most 15 characters; a literal.
  Worker(const char* name, Session::Options options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Each of the two lets the other look when it finds that the files were exchanged. Before the first post().
  static void makePeers(Worker& one, Worker& other);

  /// Any thread. After stop() the job is refused inside the call.
  void post(Job job);

  /// Lets the job that is running come to its end (a wait for a lock ends at once) and refuses the others. `wait`:
  /// returns when that is done; false on the library's own threads, which would wait for themselves.
  void stop(bool wait);

  [[nodiscard]] bool isCurrentThread() const noexcept { return current_ == core_.get(); }

 private:
  struct Core {
    explicit Core(Session::Options sessionOptions) : options{std::move(sessionOptions)} {}

    const Session::Options options;
    std::atomic<bool> stopping{false};
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Job> jobs;      // guarded by mutex
    bool mustLook{false};      // guarded by mutex
    std::weak_ptr<Core> peer;  // constant after makePeers
  };

  static void run(Core& core);
  static void letLook(Core& core);
  static void refuseAll(Core& core);

  void startThread();

  static thread_local const Core* current_;  ///< whose thread this is

  const char* name_;
  const std::shared_ptr<Core> core_;
  std::atomic<bool> started_{false};
  std::mutex threadMutex_;
  std::thread thread_;  // guarded by threadMutex_
};

}  // namespace tenure::sqlite_store
