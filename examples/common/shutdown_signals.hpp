// Waits for Ctrl-C or a polite `kill`.
#pragma once

#include <csignal>

namespace examples {

/// Made first in main(): the threads that start later inherit the blocked signals, so that only wait() sees them.
class ShutdownSignals {
 public:
  ShutdownSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }

  void wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
  }

 private:
  sigset_t set_{};
};

}  // namespace examples
