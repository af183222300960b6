#include "listener_set.hpp"

#include "lockcore/runtime/user_code.hpp"

namespace tenure {

/// A call that mute() knows about, so that no call can begin between mute()'s answer and the end of the elector.
class ListenerSet::UnderWay {
 public:
  explicit UnderWay(ListenerSet& set) : set_{set} {
    const std::lock_guard lock{set_.mutex_};
    const bool inTime = !set_.time_ || set_.time_->left() > std::chrono::nanoseconds{0};
    allowed_ = inTime && !set_.muted_;  // NOLINT(cppcoreguidelines-prefer-member-initializer): under the lock
    if (allowed_) ++set_.underWay_;
  }
  ~UnderWay() {
    const std::lock_guard lock{set_.mutex_};
    if (allowed_) --set_.underWay_;
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

  [[nodiscard]] bool allowed() const noexcept { return allowed_; }

 private:
  ListenerSet& set_;
  bool allowed_{false};
};

std::optional<std::string> ListenerSet::callEach(const char* name, const std::function<void(const Listener&)>& call) {
  std::optional<std::string> failure;
  for (const Listener& listener : listeners_) {
    const UnderWay underWay{*this};
    if (!underWay.allowed()) break;
    const auto what = whatThrown([&] { call(listener); });
    if (!what) continue;
    failure = std::string{name} + " threw: " + *what;
    report_(*failure);
  }
  return failure;
}

bool ListenerSet::mute() {
  const std::lock_guard lock{mutex_};
  muted_ = true;
  return underWay_ == 0;
}

}  // namespace tenure
