#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <semaphore.h>
#include <stdexcept>

#include <tenure/election/leader_elector.hpp>

namespace tenure {
namespace {

// A handler, because it gets a signal whichever thread the kernel gives it to; sigwait() would miss those of a thread
// that does not block them.
sem_t stopSignalArrived;
std::atomic<int> firstStopSignal{0};
std::atomic_flag waitsForStopSignal{};

void noteStopSignal(int signal) {
  const int before = errno;
  int none = 0;
  firstStopSignal.compare_exchange_strong(none, signal);
  sem_post(&stopSignalArrived);  // async-signal-safe
  errno = before;
}

class StopSignalHandlers {
 public:
  StopSignalHandlers() {
    struct sigaction noted {};
    noted.sa_handler = &noteStopSignal;
    noted.sa_flags = SA_RESTART;  // calls of other threads are not cut short
    sigset_t both;
    sigemptyset(&both);
    for (std::size_t i = 0; i < signals.size(); ++i) {
      sigaddset(&both, signals[i]);
      sigaction(signals[i], nullptr, &before_[i]);
      const bool staysIgnored = signals[i] == SIGINT && before_[i].sa_handler == SIG_IGN;
      if (!staysIgnored) sigaction(signals[i], &noted, nullptr);
    }
    pthread_sigmask(SIG_UNBLOCK, &both, nullptr);  // one that waited arrives here
  }
  ~StopSignalHandlers() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
  }
  StopSignalHandlers(const StopSignalHandlers&) = delete;
  StopSignalHandlers& operator=(const StopSignalHandlers&) = delete;

 private:
  static constexpr std::array signals{SIGINT, SIGTERM};
  std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace

int waitForStopSignal() {
  if (waitsForStopSignal.test_and_set()) {
    throw std::logic_error{"waitForStopSignal: another thread waits already; one call serves the whole process"};
  }
  sem_init(&stopSignalArrived, 0, 0);
  firstStopSignal = 0;
  {
    const StopSignalHandlers handlers;
    while (firstStopSignal == 0) sem_wait(&stopSignalArrived);  // or EINTR, by another signal
  }
  waitsForStopSignal.clear();
  return firstStopSignal;
}

}  // namespace tenure
