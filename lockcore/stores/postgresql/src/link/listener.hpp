// Hears notifications on a connection of its own, and finds out whether they arrive at all.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "opener.hpp"
#include "watchers.hpp"

namespace tenure::postgresql_store {

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
  Opener opener_;
  ConnectionHandle connection_{};
  /// After the connection, so that the socket is released first.
  std::unique_ptr<SocketWait> wait_;
  Bell again_;     ///< set: between two connections, or behind a pooler
  Bell untested_;  ///< set: the test's notification is due
  Bell rest_;      ///< set: nobody watches
  std::chrono::nanoseconds nextPause_;
  std::string nonce_{};
  std::string listen_{};  ///< the statement
  bool listens_{false};   ///< the server has answered it
  bool toldOfTrouble_{false};
  bool toldOfPooler_{false};
  /// Answers that belong to an earlier connection find it gone.
  std::shared_ptr<int> life_{std::make_shared<int>()};
};

}  // namespace tenure::postgresql_store
