#include <csignal>
#include <pthread.h>
#include <string>

#include <gtest/gtest.h>

#include <tenure/lockcore/detail/thread.hpp>

namespace tenure::test {
namespace {

std::string nameInside(const std::string& name) {
  std::string seen;
  detail::startThread(name, [&] {
    char buffer[32]{};
    pthread_getname_np(pthread_self(), buffer, sizeof buffer);
    seen = buffer;
  }).join();
  return seen;
}

TEST(StartThread, namesTheThread) {
  EXPECT_EQ(nameInside("tenure-test"), "tenure-test");
  EXPECT_EQ(nameInside("fifteen-letters"), "fifteen-letters");
  EXPECT_EQ(nameInside("a name that is much too long"), "a name that is ");
}

TEST(StartThread, leavesSignalsToTheProgram) {
  sigset_t inside{};
  detail::startThread("signals", [&] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); }).join();
  for (const int asked : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE, SIGALRM, SIGRTMIN}) {
    EXPECT_EQ(sigismember(&inside, asked), 1) << asked;
  }
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
    EXPECT_EQ(sigismember(&inside, fault), 0) << fault;
  }
}

TEST(StartThread, leavesTheCallersMaskAsItWas) {
  sigset_t one{};
  sigaddset(&one, SIGUSR2);
  sigset_t original{};
  pthread_sigmask(SIG_SETMASK, &one, &original);
  detail::startThread("mask", [] {}).join();
  sigset_t after{};
  pthread_sigmask(SIG_SETMASK, &original, &after);
  EXPECT_EQ(sigismember(&after, SIGUSR2), 1);
  EXPECT_EQ(sigismember(&after, SIGTERM), 0);
}

}  // namespace
}  // namespace tenure::test
