// What is to be told to onInDoubt, onRenewed and onLeaderChanged, while an earlier call is still running.
#pragma once

#include <list>
#include <mutex>
#include <optional>
#include <variant>

#include <tenure/election/listener.hpp>

namespace tenure {

struct LeaderNotice {
  std::optional<LeaderInfo> leader;
};
using Notice = std::variant<Doubt, Renewal, LeaderNotice>;

/// In order, and bounded however long a call blocks. Thread-safe.
class NoticeQueue {
 public:
  static constexpr std::size_t maxWaiting = 64;

  struct Pushed {
    bool mustRun;      ///< nobody empties the queue at present: the caller sees to it
    bool beganToDrop;  ///< the oldest had to go, for the first time since the queue was empty
  };

  /// A renewal behind another one replaces it, unless something was said in between: the end of a doubt must not be
  /// told before the doubt.
  Pushed push(Notice notice);

  /// Empty: nothing is left, and whoever pushes next has to see to it that the queue is emptied.
  [[nodiscard]] std::optional<Notice> pop();

 private:
  std::mutex mutex_;             ///< guards what follows
  std::list<Notice> waiting_{};  // no deque: an empty one takes 600 bytes, times 10,000 leases
  bool running_{false};
  bool dropping_{false};
};

}  // namespace tenure
