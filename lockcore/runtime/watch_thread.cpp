#include "watch_thread.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <system_error>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "thread.hpp"

namespace tenure {
namespace {

std::chrono::nanoseconds now() { return readClock().boottime; }

}  // namespace

/// CLOSE_WRITE: a notification file was touched, or the last descriptor of a liveness file was closed. ATTRIB: an open
/// liveness file was deleted; or somebody touched a notification file by hand. Deleting the file ends the watch
/// (IN_IGNORED) by itself.
constexpr std::uint32_t WatchLoop::usualEvents = IN_ATTRIB | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVE_SELF | IN_DELETE_SELF;

WatchLoop::WatchLoop(Logger logger)
    : logger_{std::move(logger)},
      inotify_{inotify_init1(IN_NONBLOCK | IN_CLOEXEC)},
      wakeup_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)} {}

void WatchLoop::add(std::shared_ptr<Watched> watched) {
  {
    const std::lock_guard lock{mutex_};
    commands_.push_back({.add = std::move(watched)});
  }
  wakeUp();
}

void WatchLoop::remove(const Watched* watched) {
  {
    const std::lock_guard lock{mutex_};
    commands_.push_back({.remove = watched});
  }
  wakeUp();
}

void WatchLoop::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  wakeUp();
}

void WatchLoop::wakeUp() noexcept {
  // A full counter (never reached) would wake the thread as well.
  static_cast<void>(eventfd_write(wakeup_.get(), 1));
}

void WatchLoop::run() {
  while (obey()) {
    waitForSomething();
    readEvents();
    runTimers();
  }
  entries_.clear();
}

bool WatchLoop::obey() {
  std::vector<Command> commands;
  {
    const std::lock_guard lock{mutex_};
    if (stopping_) return false;
    commands.swap(commands_);
  }
  for (Command& command : commands) {
    if (command.remove != nullptr) {
      forget(command.remove);
      continue;
    }
    Watched& watched = *command.add;
    entries_[&watched].watched = std::move(command.add);
    watched.begin(*this);
  }
  return true;
}

void WatchLoop::waitForSomething() {
  std::array<pollfd, 2> sources{{{wakeup_.get(), POLLIN, 0}, {inotify_.get(), POLLIN, 0}}};
  timespec timeout{};
  const timespec* limit = nullptr;
  if (!due_.empty()) {
    const auto first =
        std::min_element(due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto left = std::max(first->second - now(), std::chrono::nanoseconds{0});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    timeout.tv_sec = seconds.count();
    timeout.tv_nsec = (left - seconds).count();
    limit = &timeout;
  }
  // A negative descriptor (no inotify) is ignored by poll.
  ppoll(sources.data(), sources.size(), limit, nullptr);
  eventfd_t count = 0;
  static_cast<void>(eventfd_read(wakeup_.get(), &count));
}

void WatchLoop::readEvents() {
  alignas(inotify_event) std::array<std::byte, 16384> buffer;
  for (;;) {
    const ssize_t size = inotify_ ? ::read(inotify_.get(), buffer.data(), buffer.size()) : -1;
    if (size <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += sizeof(inotify_event) + event->len;
      if ((event->mask & IN_Q_OVERFLOW) != 0) {
        std::vector<int> all;
        for (const auto& [watch, watched] : byWatch_) all.push_back(watch);
        for (const int watch : all) dispatch(watch, true);
      } else {
        dispatch(event->wd, (event->mask & (IN_IGNORED | IN_MOVE_SELF)) != 0);
      }
    }
  }
}

void WatchLoop::dispatch(int watch, bool lost) {
  // Functions called here may change their watch, but not the set of entries: that waits for obey().
  std::vector<const Watched*> concerned;
  const auto [first, last] = byWatch_.equal_range(watch);
  for (auto it = first; it != last; ++it) concerned.push_back(it->second);
  for (const Watched* watched : concerned) {
    const auto entry = entries_.find(watched);
    if (entry == entries_.end()) continue;
    if (lost) disarm(entry->second);
    entry->second.watched->changed(*this, lost);
  }
}

void WatchLoop::runTimers() {
  if (due_.empty()) return;
  const auto at = now();
  std::vector<const Watched*> ready;
  for (const auto& [watched, when] : due_) {
    if (when <= at) ready.push_back(watched);
  }
  for (const Watched* watched : ready) {
    due_.erase(watched);
    entries_.at(watched).watched->timeOver(*this);
  }
}

void WatchLoop::forget(const Watched* watched) {
  const auto entry = entries_.find(watched);
  if (entry == entries_.end()) return;
  disarm(entry->second);
  due_.erase(watched);
  entries_.erase(entry);
}

bool WatchLoop::arm(Watched& watched, const std::string& path, std::uint32_t events) {
  Entry& entry = entries_.at(&watched);
  disarm(entry);
  entry.watch = inotify_add_watch(inotify_.get(), path.c_str(), events);
  if (entry.watch < 0) return false;
  byWatch_.emplace(entry.watch, &watched);
  return true;
}

void WatchLoop::disarm(Entry& entry) {
  if (entry.watch < 0) return;
  const int watch = std::exchange(entry.watch, -1);
  const auto [first, last] = byWatch_.equal_range(watch);
  const auto own = std::find_if(first, last, [&](const auto& item) { return item.second == entry.watched.get(); });
  if (own != last) byWatch_.erase(own);
  if (!byWatch_.contains(watch)) inotify_rm_watch(inotify_.get(), watch);  // fails if the kernel removed it itself
}

void WatchLoop::wakeAfter(Watched& watched, std::chrono::nanoseconds delay) { due_[&watched] = now() + delay; }

void WatchLoop::warnOnce(const std::string& line) {
  logger_.log(std::exchange(warned_, true) ? LogLevel::debug : LogLevel::warn, line);
}

std::shared_ptr<WatchLoop> WatchThread::started(Without without) {
  const std::lock_guard lock{mutex_};
  if (stopped_) return nullptr;
  if (loop_) return loop_->hasInotify() || without == Without::inotifyPossible ? loop_ : nullptr;
  auto loop = std::make_shared<WatchLoop>(logger_);
  if (!loop->hasInotify()) {
    logger_.log(
        std::exchange(warned_, true) ? LogLevel::debug : LogLevel::warn,
        "no inotify instance can be made (raise fs.inotify.max_user_instances): what other processes commit is noticed "
        "by polling only");
    if (without == Without::inotifyUseless) return nullptr;
  }
  if (!loop->canBeWoken()) return nullptr;
  try {
    thread_ = detail::startThread("tenure-watch", [loop] { loop->run(); });
  } catch (const std::system_error&) {
    return nullptr;
  }
  loop_ = loop;
  return loop;
}

std::shared_ptr<void> WatchThread::watch(const std::shared_ptr<Watched>& watched, Without without) {
  const std::shared_ptr<WatchLoop> loop = mark_.isHere() ? started(without) : nullptr;
  if (!loop) return nullptr;
  loop->add(watched);
  return {watched.get(), [loop, watched, mark = mark_](void*) {
            if (!mark.isHere()) return;  // the thread that could end the call exists only in the parent
            watched->permit.revoke();
            loop->remove(watched.get());
          }};
}

void WatchThread::stop() {
  std::thread ending;
  {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
    if (loop_) loop_->stop();
    ending.swap(thread_);
  }
  detail::leaveThread(ending);
}

}  // namespace tenure
