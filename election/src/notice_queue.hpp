// Notices for onInDoubt, onRenewed, onLeaderChanged and onVacancyExpected that wait while an earlier call is still
// running.
#pragma once

#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include <tenure/election/listener.hpp>

namespace tenure {

struct LeaderNotice {
  std::optional<LeaderInfo> leader;
};
struct VacancyNotice {
  std::chrono::nanoseconds remaining;
};
using Notice = std::variant<Doubt, Renewal, LeaderNotice, VacancyNotice>;

/// It keeps the order, and is bounded however long a call blocks. Thread-safe.
class NoticeQueue {
 public:
  static constexpr std::size_t maxWaiting = 64;

  struct Pushed {
    bool mustRun;      ///< nobody empties the queue at present, so the caller must do it
    bool beganToDrop;  ///< the oldest was dropped, for the first time since the queue was empty
  };

  /// A renewal behind another renewal replaces it, unless another notice is between the two: the end of a doubt must
  /// not be reported before the doubt.
  Pushed push(Notice notice) {
    const std::lock_guard lock{mutex_};
    auto* renewal = std::get_if<Renewal>(&notice);
    auto* before = waiting_.empty() ? nullptr : std::get_if<Renewal>(&waiting_.back());
    if (renewal != nullptr && before != nullptr && before->token == renewal->token) {
      before->afterDoubt = before->afterDoubt || renewal->afterDoubt;
      return {false, false};
    }
    const bool full = waiting_.size() >= maxWaiting;
    if (full) waiting_.pop_front();
    waiting_.push_back(std::move(notice));
    return {!std::exchange(running_, true), full && !std::exchange(dropping_, true)};
  }

  /// Empty: nothing is left, and the next caller of push() must make sure that the queue is emptied.
  [[nodiscard]] std::optional<Notice> pop() {
    const std::lock_guard lock{mutex_};
    if (waiting_.empty()) {
      running_ = false;
      dropping_ = false;
      return std::nullopt;
    }
    std::optional<Notice> next{std::move(waiting_.front())};
    waiting_.pop_front();
    return next;
  }

 private:
  std::mutex mutex_;             ///< guards what follows
  std::list<Notice> waiting_{};  // no deque: an empty one takes 600 bytes, times 10,000 leases
  bool running_{false};
  bool dropping_{false};
};

}  // namespace tenure
