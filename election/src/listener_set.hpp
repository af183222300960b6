// The listeners of one elector: calls them, contains what they throw, and stops calling them for good.
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tenure/election/listener.hpp>

#include "lockcore/runtime/patience.hpp"

namespace tenure {

class ListenerSet {
 public:
  using Report = std::function<void(const std::string&)>;

  /// `report` is called for each exception, on the thread of the callback.
  explicit ListenerSet(Report report) : report_{std::move(report)} {}

  /// Only before the first call.
  void add(Listener listener) { listeners_.push_back(std::move(listener)); }

  template <class Callback>
  [[nodiscard]] bool wants(Callback Listener::*callback) const {
    return std::any_of(listeners_.begin(), listeners_.end(), [&](const Listener& l) { return bool{l.*callback}; });
  }

  /// Calls one after the other, in the order of adding, whether or not one throws. Returns the message of the last
  /// exception.
  template <class Callback, class Argument>
  std::optional<std::string> call(const char* name, Callback Listener::*callback, const Argument& argument) {
    return callEach(name, [&](const Listener& listener) {
      if (listener.*callback) (listener.*callback)(argument);
    });
  }

  /// Once it has returned, no further call begins. False: a call is under way.
  [[nodiscard]] bool mute();

  /// The same once this time is over. A second call has no effect.
  void muteAfter(const Patience& time) {
    const std::lock_guard lock{mutex_};
    if (!time_) time_.emplace(time);
  }

  /// Destroys the listeners with all that they own. Only if they are muted, no call is under way, and none can come.
  void clear() { std::vector<Listener>{}.swap(listeners_); }

 private:
  class UnderWay;
  std::optional<std::string> callEach(const char* name, const std::function<void(const Listener&)>& call);

  const Report report_;
  std::vector<Listener> listeners_{};
  std::mutex mutex_;  ///< guards what follows; never held while a callback runs
  int underWay_{0};
  bool muted_{false};
  std::optional<Patience> time_{};  ///< for calls to begin; empty: without a bound
};

}  // namespace tenure
