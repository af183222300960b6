#include "watchdog.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

#include "lockcore/runtime/output_writer.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/thread.hpp"

namespace tenure {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// How long before the end of validity the last log line of a process is given to its log sink, which has time for it
/// until then. It has this much after a validity that ended early.
constexpr milliseconds lastWordsTime{50}, leastWordsTime{5};
/// A deadline that is noticed within this time was noticed on time.
constexpr milliseconds freshness{100};
constexpr std::chrono::seconds quietTime{1};

/// When to check again something that ends in `left`. The clocks that may end it run at different rates, so the first
/// checks come early; by then a living term is usually renewed. Early checks are rounded, so that terms share a
/// wake-up.
nanoseconds nextLook(const nanoseconds now, const nanoseconds left) {
  if (left <= milliseconds{8}) return now + std::max(left, nanoseconds{0});
  const nanoseconds look = now + left - left / 8;
  const auto slot = std::bit_floor(static_cast<std::uint64_t>((left / 16).count()));
  return nanoseconds{look.count() - static_cast<std::int64_t>(static_cast<std::uint64_t>(look.count()) % slot)};
}

class Watchdog {
 public:
  /// A watched term. The watchdog keeps it only as long as its owner does.
  class Entry final : public TermWatch {
   public:
    Entry(Watchdog& owner, WatchedTerm watched) : dog{owner}, term{std::move(watched)} {}
    ~Entry() override {
      if (mark.isHere()) dog.forget(*this);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// Checks the end of the lead, and then the end of the validity. Empty: there is nothing more to watch.
    [[nodiscard]] std::optional<nanoseconds> look(const Instant& now);

    Watchdog& dog;
    const WatchedTerm term;
    const ProcessMark mark{};
    std::multimap<nanoseconds, Entry*>::iterator place{};  ///< guarded by the watchdog's mutex
    bool isPlaced{false};                                  ///< likewise
    bool told{false};                                      ///< likewise

   private:
    void tellStop(nanoseconds late);
    [[noreturn]] void terminate(nanoseconds forWords) const;
  };

  Watchdog() = default;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() = default;  // there is one for the process, which is never destroyed

  /// Throws std::system_error if no timer or no thread is available.
  [[nodiscard]] std::shared_ptr<void> keep() {
    auto kept = std::make_shared<Keeper>(*this);
    const std::lock_guard lock{mutex_};
    if (timer_ < 0) timer_ = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (timer_ < 0) {
      throw errnoException(errno,
                           "no timer can be made for the deadlines of terms; raise the limit of open files "
                           "(ulimit -n, LimitNOFILE of the service)");
    }
    if (!runs_) {
      detail::startDetachedThread("tenure-watchdog", [this] { run(); });
      runs_ = true;
      armed_ = nanoseconds::max();
    }
    kept->counts = true;
    ++keepers_;
    return kept;
  }

  /// Its owner keeps the watchdog.
  void add(Entry& entry) {
    const std::lock_guard lock{mutex_};
    const Instant now = readClock();
    if (const auto next = entry.look(now)) place(entry, *next);
  }

  void forget(Entry& entry) {
    const std::lock_guard lock{mutex_};
    if (std::exchange(entry.isPlaced, false)) queue_.erase(entry.place);  // an armed timer does no harm
    endSoonIfUnused();
  }

 private:
  struct Keeper {
    explicit Keeper(Watchdog& owner) : dog{owner} {}
    ~Keeper() {
      if (!counts || !mark.isHere()) return;
      const std::lock_guard lock{dog.mutex_};
      --dog.keepers_;
      dog.endSoonIfUnused();
    }
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    Watchdog& dog;
    const ProcessMark mark{};
    bool counts{false};
  };

  [[nodiscard]] bool isUnused() const { return queue_.empty() && keepers_ == 0; }

  /// The thread ends soon after the last user, and not only when the lease of its term would have ended.
  void endSoonIfUnused() {
    if (!isUnused() || !runs_) return;
    const nanoseconds soon = readClock().boottime + quietTime;
    if (soon < armed_) arm(soon);
  }

  void place(Entry& entry, nanoseconds when) {
    entry.place = queue_.emplace(when, &entry);
    entry.isPlaced = true;
    if (when < armed_) arm(when);
  }

  void arm(nanoseconds when) {
    armed_ = when;
    itimerspec at{};
    at.it_value.tv_sec = static_cast<time_t>(when / std::chrono::seconds{1});
    at.it_value.tv_nsec = std::max(static_cast<long>((when % std::chrono::seconds{1}).count()), 1L);  // 0 would disarm
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);  // cannot fail with these arguments
  }

  void run() {
    do {
      std::uint64_t expirations = 0;
      [[maybe_unused]] const ssize_t taken = read(timer_, &expirations, sizeof expirations);
    } while (lookAtAll());
  }

  /// False: nobody used the watchdog for a while, and this thread ends.
  bool lookAtAll() {
    const std::lock_guard lock{mutex_};
    const Instant now = readClock();
    while (!queue_.empty() && queue_.begin()->first <= now.boottime) {
      Entry& entry = *queue_.begin()->second;
      queue_.erase(queue_.begin());
      entry.isPlaced = false;
      if (const auto next = entry.look(now)) place(entry, *next);
    }
    if (isUnused() && idle_) {
      runs_ = idle_ = false;
      return false;
    }
    idle_ = isUnused();
    armed_ = nanoseconds::max();  // it has fired
    if (!queue_.empty()) arm(queue_.begin()->first);
    if (idle_) arm(now.boottime + quietTime);
    return true;
  }

  std::mutex mutex_;  ///< guards what follows; never held in user code, nor in a wait, except a process's last one
  std::multimap<nanoseconds, Entry*> queue_{};  ///< when to look, on CLOCK_BOOTTIME
  int timer_{-1};
  nanoseconds armed_{nanoseconds::max()};
  int keepers_{0};
  bool runs_{false};
  bool idle_{false};
};

std::optional<nanoseconds> Watchdog::Entry::look(const Instant& now) {
  const TermState published = term.cell->load();
  // A state of another term, or of none, shows that this one is over.
  const TermState state = published.token == term.token ? published : TermState{};
  const nanoseconds spent = elapsedForHolder(state.anchor, now);
  if (state.leadsAt(now)) return nextLook(now.boottime, state.leadsFor - spent);
  if (!std::exchange(told, true)) tellStop(spent - state.leadsFor);
  if (!term.termination || term.termination->ended->load()) return std::nullopt;
  const nanoseconds margin = std::min<nanoseconds>(lastWordsTime, (state.validFor - state.leadsFor) / 4);
  const nanoseconds left = state.validAt(now) ? state.validFor - spent : nanoseconds{0};
  if (left <= margin) terminate(std::max<nanoseconds>(left, leastWordsTime));
  return nextLook(now.boottime, left - margin);
}

/// The order matters: the driver ends the term before anything that follows the signal reaches the driver.
void Watchdog::Entry::tellStop(nanoseconds late) {
  onTime_.store(late < freshness);
  term.lane->post([stop = term.stop, owner = term.driver, token = term.token] {
    if (const auto driver = owner.lock()) driver->endTerm(token);
    if (const auto signal = stop.lock()) signal->fire();
  });
}

void Watchdog::Entry::terminate(nanoseconds forWords) const {
  const auto logged = std::make_shared<std::promise<void>>();
  auto heard = logged->get_future();
  term.lane->post([logged, forWords, how = term.termination] {
    how->logger.log(LogLevel::error, how->line);
    stderrWriter().flush(forWords);
    logged->set_value();
  });
  heard.wait_for(forWords);
  std::_Exit(term.termination->exitCode);
}

Watchdog& watchdog() {
  static detail::PerProcess<Watchdog> perProcess;
  return perProcess.get();
}

}  // namespace

std::shared_ptr<TermWatch> watchTerm(WatchedTerm term) {
  Watchdog& dog = watchdog();
  auto entry = std::make_shared<Watchdog::Entry>(dog, std::move(term));
  dog.add(*entry);
  return entry;
}

std::shared_ptr<void> keepWatchdog() { return watchdog().keep(); }

}  // namespace tenure
