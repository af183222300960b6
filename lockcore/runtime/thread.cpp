#include "thread.hpp"

#include <csignal>
#include <pthread.h>
#include <system_error>
#include <utility>

namespace tenure::detail {
namespace {

class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    // A fault of the thread itself must still end the process.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

thread_local bool isWaitedFor = false;

std::thread start(const std::string& name, bool waitedFor, std::function<void()> body) {
  const BlockedSignals inherited;  // a new thread inherits the mask of the thread that starts it
  try {
    return std::thread{[name = name.substr(0, 15), waitedFor, body = std::move(body)] {
      pthread_setname_np(pthread_self(), name.c_str());
      isWaitedFor = waitedFor;
      body();
    }};
  } catch (const std::system_error& fault) {
    throw std::system_error{fault.code(), "thread " + name +
                                              " cannot be started; raise the limit of threads (ulimit -u, TasksMax of "
                                              "the service, pids.max of the cgroup) or of memory"};
  }
}

}  // namespace

std::thread startThread(const std::string& name, std::function<void()> body) {
  return start(name, true, std::move(body));
}

void startDetachedThread(const std::string& name, std::function<void()> body) {
  start(name, false, std::move(body)).detach();
}

void leaveThread(std::thread& thread) {
  if (!thread.joinable()) return;
  if (isWaitedFor) {
    thread.detach();
  } else {
    thread.join();
  }
}

}  // namespace tenure::detail
