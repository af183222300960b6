// The lanes on which a client's callbacks run, also those of locks that have ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "lockcore/runtime/callback_lane.hpp"

namespace tenure {

/// A lane is known for as long as its owner or a callback of it is there. Not thread-safe.
class LockLanes {
 public:
  using Lane = std::shared_ptr<CallbackLane>;

  void add(const Lane& lane) {
    if (lanes_.size() >= cleanAt_) {  // each time after as many more as were left: that costs little for each
      std::erase_if(lanes_, [](const std::weak_ptr<CallbackLane>& one) { return one.expired(); });
      cleanAt_ = std::max<std::size_t>(16, 2 * lanes_.size());
    }
    lanes_.emplace_back(lane);
  }

  [[nodiscard]] std::vector<Lane> all() const {
    std::vector<Lane> all;
    for (const auto& one : lanes_) {
      if (Lane lane = one.lock()) all.push_back(std::move(lane));
    }
    return all;
  }

 private:
  std::vector<std::weak_ptr<CallbackLane>> lanes_{};
  std::size_t cleanAt_{16};
};

}  // namespace tenure
