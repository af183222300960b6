// A loop of the user, and a way to block it.
#pragma once

#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace tenure::test {

/// Blocks callers until it is opened; at the latest when the test ends.
class Gate {
 public:
  Gate() = default;
  /// Returns when all waiting callers have left.
  ~Gate() {
    open();
    while (inside_ > 0) std::this_thread::yield();
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() {
    if (!std::exchange(opened_, true)) promise_.set_value();
  }
  void wait() {
    ++inside_;
    entered_ = true;
    future_.wait();
    --inside_;
  }
  [[nodiscard]] bool entered() const { return entered_; }

 private:
  std::promise<void> promise_{};
  const std::shared_future<void> future_{promise_.get_future().share()};
  std::atomic<bool> entered_{false};
  std::atomic<int> inside_{0};
  bool opened_{false};
};

/// With one thread.
class UsersLoop {
 public:
  UsersLoop() = default;
  ~UsersLoop() {
    work_.reset();
    thread_.join();
  }
  UsersLoop(const UsersLoop&) = delete;
  UsersLoop& operator=(const UsersLoop&) = delete;
  /// Returns once its thread stands still.
  void block(Gate& gate) {
    boost::asio::post(io, [&gate] { gate.wait(); });
    while (!gate.entered()) std::this_thread::yield();
  }

  boost::asio::io_context io{1};

 private:
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io.get_executor()};
  std::thread thread_{[this] { io.run(); }};
};

}  // namespace tenure::test
