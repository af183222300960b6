#include "notice_queue.hpp"

#include <utility>

namespace tenure {

NoticeQueue::Pushed NoticeQueue::push(Notice notice) {
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

std::optional<Notice> NoticeQueue::pop() {
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

}  // namespace tenure
