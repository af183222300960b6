// Notices for onInDoubt, onRenewed and onLeaderChanged that wait while an earlier call is still running.
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
  Pushed push(Notice notice);

  /// Empty: nothing is left, and the next caller of push() must make sure that the queue is emptied.
  [[nodiscard]] std::optional<Notice> pop();

 private:
  std::mutex mutex_;             ///< guards what follows
  std::list<Notice> waiting_{};  // no deque: an empty one takes 600 bytes, times 10,000 leases
  bool running_{false};
  bool dropping_{false};
};

}  // namespace tenure
