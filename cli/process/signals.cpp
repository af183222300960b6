#include "signals.hpp"

#include <pthread.h>
#include <sys/signalfd.h>

#include "process.hpp"

namespace tenure::cli {

SignalState SignalState::takeOver() noexcept {
  SignalState state;
  pthread_sigmask(SIG_SETMASK, nullptr, &state.mask_);
  sigemptyset(&state.ignored_);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT}) {
    struct sigaction present {};
    sigaction(signal, nullptr, &present);
    if (present.sa_handler == SIG_IGN) sigaddset(&state.ignored_, signal);
  }
  sigaction(SIGPIPE, nullptr, &state.pipe_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &ignore, &state.fileSize_);  // a write beyond RLIMIT_FSIZE is an error that has words (EFBIG)
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, &state.child_);
  sigaction(SIGTERM, &standard, &state.terminate_);
  sigset_t ending{};
  sigemptyset(&ending);
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) sigaddset(&ending, signal);
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
  return state;
}

void SignalState::restore() const noexcept {
  sigaction(SIGPIPE, &pipe_, nullptr);
  sigaction(SIGCHLD, &child_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
  sigaction(SIGXFSZ, &fileSize_, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

std::vector<int> SignalState::heeded(std::vector<int> signals) const {
  std::erase_if(signals, [this](int signal) { return sigismember(&ignored_, signal) == 1; });
  return signals;
}

void ignoreClosedPipes() noexcept {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
}

SignalEvents::SignalEvents(const std::vector<int>& signals) {
  sigset_t set{};
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) throwErrno("blocking signals");
  events_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!events_) throwErrno("signalfd");
}

std::optional<int> SignalEvents::next() noexcept {
  signalfd_siginfo info{};
  if (read(events_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace tenure::cli
