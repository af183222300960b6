// Hears notifications on a connection of its own, and finds out whether they arrive at all.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "connection_attempt.hpp"
#include "lockcore/runtime/call_permit.hpp"

namespace tenure::postgresql_store {

/// Who is to be told of changes. Any thread may add and remove; one thread calls.
class Watchers {
 public:
  class Entry {
   public:
    Entry(std::string payload, std::function<void()> hint) : payload_{std::move(payload)}, hint_{std::move(hint)} {}
    void call() { permit_.call(hint_); }
    /// After this, the function is not running and will not run.
    void end() { permit_.revoke(); }
    [[nodiscard]] const std::string& payload() const noexcept { return payload_; }

   private:
    const std::string payload_;
    const std::function<void()> hint_;
    CallPermit permit_{};
  };

  void add(const std::shared_ptr<Entry>& entry) {
    const std::lock_guard lock{mutex_};
    entries_.emplace(entry->payload(), entry);
  }

  void remove(const Entry& entry) {
    const std::lock_guard lock{mutex_};
    const auto [first, last] = entries_.equal_range(entry.payload());
    for (auto at = first; at != last; ++at) {
      if (at->second.get() != &entry) continue;
      entries_.erase(at);
      return;
    }
  }

  [[nodiscard]] bool empty() const {
    const std::lock_guard lock{mutex_};
    return entries_.empty();
  }

  void hint(const std::string& payload) const {
    std::vector<std::shared_ptr<Entry>> called;
    {
      const std::lock_guard lock{mutex_};
      const auto [first, last] = entries_.equal_range(payload);
      for (auto at = first; at != last; ++at) called.push_back(at->second);
    }
    for (const auto& entry : called) entry->call();
  }

  void hintAll() const {
    std::vector<std::shared_ptr<Entry>> called;
    {
      const std::lock_guard lock{mutex_};
      for (const auto& [payload, entry] : entries_) called.push_back(entry);
    }
    for (const auto& entry : called) entry->call();
  }

 private:
  mutable std::mutex mutex_;
  std::multimap<std::string, std::shared_ptr<Entry>> entries_{};  // guarded by mutex_
};

/// Behind a pooler that gives a connection away after each transaction, LISTEN succeeds and no notification ever comes.
/// So the listener sends one to itself, by the connections that the jobs use. Belongs to the link's thread.
class Listener {
 public:
  /// Notifies the channel over another connection; tells whether the server has done it.
  using Notify = std::function<void(const std::string& payload, std::function<void(bool done)>)>;

  Listener(Surroundings& around, const Settings& settings, const std::string& passwordFile, std::string channel,
           const Watchers& watchers, Notify notify);
  ~Listener() { stop(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Somebody watches.
  void start();
  /// Somebody does not watch any more.
  void mayRest();
  void stop();

 private:
  void open();
  void opened(Connected connected);
  void wait();
  void readable();
  [[nodiscard]] bool send(const std::string& sql);
  void takeResults();
  void takeNotifications();
  void test();
  void testSent(bool done);
  void testFailed();
  void testPassed();
  void liftIdleLimit();
  void lost(const std::string& why);
  void disconnect() noexcept;

  Surroundings& around_;
  const std::string channel_;
  const Watchers& watchers_;
  const Notify notify_;
  ConnectionAttempt attempt_;
  ConnectionHandle connection_{};
  /// After the connection, so that the socket is released first.
  std::unique_ptr<SocketWait> wait_;
  Timer again_;     ///< set: between two connections, or behind a pooler
  Timer untested_;  ///< set: the test's notification is due
  Timer rest_;      ///< set: nobody watches
  std::chrono::nanoseconds nextPause_;
  std::string nonce_{};
  std::string listen_{};  ///< the statement
  bool listens_{false};   ///< the server has answered it
  bool reportedError_{false};
  bool reportedPooler_{false};
  /// Answers that belong to an earlier connection find it gone.
  std::shared_ptr<int> life_{std::make_shared<int>()};
};

}  // namespace tenure::postgresql_store
