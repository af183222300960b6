#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <tenure/lockcore/asio.hpp>

#include "lockcore/port/saturating_time.hpp"
#include "process_mark.hpp"
#include "system_error.hpp"
#include "thread.hpp"

namespace tenure {

/// The links of one loop. A service, because an execution context shuts its services down before any part of it is
/// gone.
class detail::LoopLink::OfLoop final : public boost::asio::execution_context::service {
 public:
  static inline boost::asio::execution_context::id id{};  // as Asio wants it

  explicit OfLoop(boost::asio::execution_context& loop) : service{loop} {}

  /// The link leaves by dropping what it gets, also when the loop has ended.
  [[nodiscard]] std::shared_ptr<void> add(const std::shared_ptr<LoopLink>& link) {
    const std::lock_guard lock{all_->mutex};
    all_->links.push_back(link);
    return {nullptr, [all = all_, at = std::prev(all_->links.end())](std::nullptr_t) {
              const std::lock_guard leaving{all->mutex};
              all->links.erase(at);
            }};
  }

 private:
  struct All {
    std::mutex mutex;  ///< guards links
    std::list<std::weak_ptr<LoopLink>> links{};
  };

  void shutdown() noexcept override {
    std::list<std::weak_ptr<LoopLink>> links;
    {
      const std::lock_guard lock{all_->mutex};
      links = all_->links;
    }
    for (const auto& one : links) {
      if (const auto link = one.lock()) link->end();
    }
  }

  const std::shared_ptr<All> all_{std::make_shared<All>()};
};

std::shared_ptr<detail::LoopLink> detail::LoopLink::make(boost::asio::execution_context& loop,
                                                         std::shared_ptr<void> kept) {
  std::shared_ptr<LoopLink> link{new LoopLink{std::move(kept)}};  // lint-allow(raw-new): private constructor
  link->place_ = boost::asio::use_service<OfLoop>(loop).add(link);
  return link;
}

/// Under the lock: a loop that ends meanwhile waits until what was kept is gone.
detail::LoopLink::~LoopLink() {
  const std::lock_guard lock{mutex_};
  kept_.reset();
}

void detail::LoopLink::end() noexcept {
  std::shared_ptr<void> over;  // destroyed after the lock is released: it may be anything
  const std::lock_guard lock{mutex_};
  over.swap(kept_);
}

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::nanoseconds;

int makeTimer() {
  const int fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) throw errnoException(errno, "timerfd_create");
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

/// What an AsioScheduler has on its loop. All timers share one timerfd of CLOCK_BOOTTIME, and timers near each other
/// share a wake-up. This timer fires right after a suspend; a timer of CLOCK_MONOTONIC would be late by the time for
/// which the machine slept.
struct OnLoop {
  using Queue = std::map<std::pair<nanoseconds, Scheduler::TimerId>, Scheduler::Task>;

  explicit OnLoop(const asio::any_io_executor& executor)
      : strand{asio::make_strand(executor)}, timer{strand, makeTimer()} {}

  asio::strand<asio::any_io_executor> strand;
  // Used on the strand only.
  asio::posix::stream_descriptor timer;
  bool waiting{false};
  Queue queue{};
  std::map<Scheduler::TimerId, nanoseconds> dueOf{};
};

/// Reaches the loop by its link alone, so the loop may be destroyed at any time; what it had not run by then is
/// destroyed with it. A forked child that runs the inherited loop runs none of the tasks, and does not touch the
/// timerfd, which it shares with its parent.
class AsioScheduler final : public Scheduler, public std::enable_shared_from_this<AsioScheduler> {
 public:
  explicit AsioScheduler(const asio::any_io_executor& executor) {
    auto made = std::make_shared<OnLoop>(executor);
    on_ = made.get();
    link_ = detail::LoopLink::make(detail::loopOf(executor), std::move(made));  // last, so that it ends first
  }
  ~AsioScheduler() override {
    OnLoop::Queue unrun;  // destroyed without the link, because tasks may own anything
    link_->whileThere([&] { unrun.swap(on_->queue); });
    link_.reset();
  }
  AsioScheduler(const AsioScheduler&) = delete;
  AsioScheduler& operator=(const AsioScheduler&) = delete;

  [[nodiscard]] std::shared_ptr<const Clock> clock() const override { return systemClock(); }
  [[nodiscard]] Instant now() const noexcept override { return readClock(); }

  void post(Task task) override {
    if (!mark_.isHere()) return;
    link_->whileThere([&] {
      asio::post(on_->strand, [mark = mark_, task = std::move(task)] {
        if (mark.isHere()) task();
      });
    });
  }

  TimerId schedule(nanoseconds delay, Task task) override {
    const TimerId id = ++lastId_;
    link_->whileThere([&] {
      const nanoseconds due = saturating::sum(readClock().boottime, std::max(delay, nanoseconds{0}));
      const bool first = on_->queue.empty() || due < on_->queue.begin()->first.first;
      on_->queue.emplace(std::pair{due, id}, std::move(task));
      on_->dueOf.emplace(id, due);
      if (first) arm();
    });
    return id;
  }

  void cancel(TimerId id) noexcept override {
    OnLoop::Queue::node_type cancelled;  // destroyed without the link
    link_->whileThere([&] {
      const auto found = on_->dueOf.find(id);
      if (found == on_->dueOf.end()) return;
      cancelled = on_->queue.extract({found->second, id});
      on_->dueOf.erase(found);                      // an armed timer that finds nothing due does no harm
      if (on_->queue.empty()) on_->timer.cancel();  // but a loop without work ends, and must not wait for it
    });
  }

  [[nodiscard]] bool isCurrent() const noexcept override {
    bool current = false;
    if (!mark_.isHere()) return current;
    link_->whileThere(
        [&] { current = on_->strand.running_in_this_thread() || runsInThisThread(on_->strand.get_inner_executor()); });
    return current;
  }

 private:
  /// With the link.
  void arm() {
    const nanoseconds due = on_->queue.begin()->first.first;
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(due / std::chrono::seconds{1});
    when.it_value.tv_nsec = static_cast<long>((due % std::chrono::seconds{1}).count());
    timerfd_settime(on_->timer.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr);  // cannot fail with these arguments
    if (std::exchange(on_->waiting, true)) return;
    on_->timer.async_wait(asio::posix::stream_descriptor::wait_read, [weak = weak_from_this()](error_code cancelled) {
      if (const auto self = weak.lock(); self && self->mark_.isHere()) self->fire(!cancelled);
    });
  }

  /// On the loop, which so cannot end.
  void fire(bool expired) {
    on_->waiting = false;
    std::uint64_t expirations = 0;
    [[maybe_unused]] const ssize_t taken =
        expired ? read(on_->timer.native_handle(), &expirations, sizeof expirations) : 0;
    const nanoseconds now = readClock().boottime;
    OnLoop::Queue& queue = on_->queue;
    while (!queue.empty() && queue.begin()->first.first <= now) {
      const auto next = queue.extract(queue.begin());
      on_->dueOf.erase(next.key().second);
      next.mapped()();
    }
    if (!queue.empty()) arm();
  }

  const ProcessMark mark_{};
  OnLoop* on_{nullptr};  ///< used while the link is there, which owns it
  std::shared_ptr<detail::LoopLink> link_{};
  TimerId lastId_{0};
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
