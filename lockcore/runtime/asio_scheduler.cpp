#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <tenure/lockcore/asio.hpp>

#include "process_mark.hpp"
#include "thread.hpp"

namespace tenure {
namespace {

namespace asio = boost::asio;
using std::chrono::nanoseconds;

int makeTimer() {
  const int fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
  return fd;
}

template <class Executor>
bool isOn(const asio::any_io_executor& executor) noexcept {
  if (const auto* plain = executor.target<Executor>()) return plain->running_in_this_thread();
  const auto* strand = executor.target<asio::strand<Executor>>();
  return strand != nullptr && strand->get_inner_executor().running_in_this_thread();
}

/// Also where the executor keeps its loop at work, which is another type.
template <class Executor>
bool isOnLoopOf(const asio::any_io_executor& executor) noexcept {
  using Tracked = decltype(asio::prefer(std::declval<Executor>(), asio::execution::outstanding_work.tracked));
  return isOn<Executor>(executor) || isOn<Tracked>(executor);
}

/// True on any handler of the loop, not only on those of the strand: if the loop has one thread and that thread waits,
/// nothing runs.
bool runsInThisThread(const asio::any_io_executor& executor) noexcept {
  if (const auto* strand = executor.target<asio::strand<asio::any_io_executor>>()) {
    return strand->running_in_this_thread() || runsInThisThread(strand->get_inner_executor());
  }
  return isOnLoopOf<asio::io_context::executor_type>(executor) ||
         isOnLoopOf<asio::thread_pool::executor_type>(executor);
}

/// All timers share one timerfd of CLOCK_BOOTTIME, and timers near each other share a wake-up. This timer fires right
/// after a suspend; a timer of CLOCK_MONOTONIC would be late by the time for which the machine slept.
class AsioScheduler final : public Scheduler, public std::enable_shared_from_this<AsioScheduler> {
 public:
  explicit AsioScheduler(const asio::any_io_executor& executor)
      : strand_{asio::make_strand(executor)}, timer_{strand_, makeTimer()} {}

  [[nodiscard]] std::shared_ptr<const Clock> clock() const override { return systemClock(); }
  [[nodiscard]] Instant now() const noexcept override { return readClock(); }

  void post(Task task) override { asio::post(strand_, std::move(task)); }

  TimerId schedule(nanoseconds delay, Task task) override {
    const TimerId id = ++lastId_;
    const nanoseconds due = readClock().boottime + std::max(delay, nanoseconds{0});
    const bool first = queue_.empty() || due < queue_.begin()->first.first;
    queue_.emplace(std::pair{due, id}, std::move(task));
    dueOf_.emplace(id, due);
    if (first) arm();
    return id;
  }

  void cancel(TimerId id) noexcept override {
    const auto found = dueOf_.find(id);
    if (found == dueOf_.end()) return;
    queue_.erase({found->second, id});
    dueOf_.erase(found);  // an armed timer that finds nothing due does no harm
  }

  [[nodiscard]] bool isCurrent() const noexcept override {
    return strand_.running_in_this_thread() || runsInThisThread(strand_.get_inner_executor());
  }

 private:
  void arm() {
    const nanoseconds due = queue_.begin()->first.first;
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(due / std::chrono::seconds{1});
    when.it_value.tv_nsec = static_cast<long>((due % std::chrono::seconds{1}).count());
    timerfd_settime(timer_.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr);  // cannot fail with these arguments
    if (std::exchange(waiting_, true)) return;
    timer_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [weak = weak_from_this()](boost::system::error_code ec) {
                        if (const auto self = weak.lock(); self && !ec) self->fire();
                      });
  }

  void fire() {
    waiting_ = false;
    std::uint64_t expirations = 0;
    [[maybe_unused]] const ssize_t taken = read(timer_.native_handle(), &expirations, sizeof expirations);
    const nanoseconds now = readClock().boottime;
    while (!queue_.empty() && queue_.begin()->first.first <= now) {
      const auto next = queue_.extract(queue_.begin());
      dueOf_.erase(next.key().second);
      next.mapped()();
    }
    if (!queue_.empty()) arm();
  }

  asio::strand<asio::any_io_executor> strand_;
  asio::posix::stream_descriptor timer_;
  bool waiting_{false};
  TimerId lastId_{0};
  std::map<std::pair<nanoseconds, TimerId>, Task> queue_{};
  std::map<TimerId, nanoseconds> dueOf_{};
};

/// The loop of the shared scheduler with its thread. The thread keeps the loop alive, so that one of the loop's own
/// tasks may drop the last reference.
class OwnLoop {
 public:
  OwnLoop()
      : loop_{std::make_shared<Loop>()},
        scheduler_{std::make_shared<AsioScheduler>(loop_->io.get_executor())},
        thread_{detail::startThread("tenure-renewal", [loop = loop_] { loop->io.run(); })} {}
  ~OwnLoop() {
    // Everything posted before still runs, for example the answers of a store that was destroyed with the last
    // reference. This task keeps the scheduler until then, because this thread may have left here long before.
    scheduler_->post([loop = loop_, scheduler = scheduler_] { loop->io.stop(); });
    detail::leaveThread(thread_);
  }
  OwnLoop(const OwnLoop&) = delete;
  OwnLoop& operator=(const OwnLoop&) = delete;

  [[nodiscard]] const std::shared_ptr<AsioScheduler>& scheduler() const noexcept { return scheduler_; }

 private:
  struct Loop {
    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  };
  std::shared_ptr<Loop> loop_;
  std::shared_ptr<AsioScheduler> scheduler_;
  std::thread thread_;  // the last member: everything that can fail comes before there is a thread to end
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override { return readClock(); }
};

}  // namespace

/// It is never destroyed: a thread that still releases a lock in the background reads it while the process ends.
std::shared_ptr<const Clock> systemClock() {
  static const auto* const clock = new SystemClock;  // lint-allow(raw-new): see above
  return {std::shared_ptr<void>{}, clock};
}

std::shared_ptr<Scheduler> makeAsioScheduler(asio::any_io_executor executor) {
  return std::make_shared<AsioScheduler>(std::move(executor));
}

std::shared_ptr<Scheduler> sharedScheduler() {
  struct Shared {
    std::mutex mutex;
    std::weak_ptr<OwnLoop> current;
  };
  static detail::PerProcess<Shared> perProcess;
  Shared& shared = perProcess.get();
  const std::lock_guard lock{shared.mutex};
  std::shared_ptr<OwnLoop> loop = shared.current.lock();
  if (!loop) shared.current = loop = std::make_shared<OwnLoop>();
  return {loop, loop->scheduler().get()};
}

}  // namespace tenure
