// What a Leadership shares with its elector.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include <tenure/lockcore/lease_driver.hpp>
#include <tenure/lockcore/process_mark.hpp>

namespace tenure {

/// A stop source that one thread fires, while another must know that it was fired without running what users hung on
/// it.
class StopSignal {
 public:
  [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }
  [[nodiscard]] bool requested() const noexcept { return source_.stop_requested(); }

  /// Runs the callbacks of the users.
  void fire() {
    {
      const std::lock_guard lock{mutex_};
      begun_ = true;
      begins_.notify_all();
    }
    source_.request_stop();
  }

  /// From its return on requested() is true. Where the other thread does not get to it, this one fires.
  void awaitFired(std::chrono::nanoseconds patience) {
    std::unique_lock lock{mutex_};
    const bool begun = begins_.wait_for(lock, patience, [this] { return begun_; });
    lock.unlock();
    if (!begun) source_.request_stop();
    while (!requested()) std::this_thread::yield();  // the other thread is about to
  }

 private:
  std::stop_source source_{};
  std::mutex mutex_;  ///< guards begun_
  std::condition_variable begins_{};
  bool begun_{false};
};

/// Everything but the stop signal is constant after construction.
struct TermHandle {
  TermHandle(std::string lease, std::string candidate, FencingToken number, std::shared_ptr<const TermCell> published,
             std::weak_ptr<LeaseDriver> drivenBy, std::shared_ptr<const Clock> electorsClock)
      : leaseName{std::move(lease)},
        holder{std::move(candidate)},
        token{number},
        cell{std::move(published)},
        driver{std::move(drivenBy)},
        clock{std::move(electorsClock)} {}

  std::string leaseName;
  std::string holder;
  FencingToken token;
  std::shared_ptr<const TermCell> cell;
  std::weak_ptr<LeaseDriver> driver;  ///< gone when the elector is
  std::shared_ptr<const Clock> clock;
  ProcessMark mark{};
  StopSignal stop{};

  /// The published state if it is still about this term, else "no term": in a forked child it never is.
  [[nodiscard]] TermState state() const noexcept {
    if (!mark.isHere()) return {};
    const TermState now = cell->load();
    return now.token == token ? now : TermState{};
  }
};

}  // namespace tenure
