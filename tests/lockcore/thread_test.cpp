#include "lockcore/runtime/thread.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <pthread.h>
#include <string>
#include <thread>

#include <gtest/gtest.h>

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

/// The situation of a client and a scheduler whose last references are dropped at the same time, each on the other's
/// thread.
TEST(LeaveThread, threadsOfTheLibraryDoNotWaitForOneAnother) {
  std::promise<std::thread*> other[2];
  std::future<void> left[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i) {
    auto done = std::make_shared<std::promise<void>>();
    left[i] = done->get_future();
    threads[i] = detail::startThread("mutual", [whom = other[i].get_future().share(), done] {
      detail::leaveThread(*whom.get());
      done->set_value();
    });
  }
  other[0].set_value(&threads[1]);
  other[1].set_value(&threads[0]);
  for (const std::future<void>& one : left) {
    ASSERT_EQ(one.wait_for(std::chrono::seconds{20}), std::future_status::ready);
  }
}

TEST(LeaveThread, theProgramsThreadsWait) {
  std::promise<void> go;
  std::atomic<bool> ended{false};
  std::thread thread = detail::startThread("waited-for", [whenever = go.get_future().share(), &ended] {
    whenever.wait();
    std::this_thread::yield();
    ended = true;
  });
  go.set_value();
  detail::leaveThread(thread);
  EXPECT_TRUE(ended);
  EXPECT_FALSE(thread.joinable());
  detail::leaveThread(thread);  // nothing is left to wait for
}

TEST(LeaveThread, aThreadThatNobodyWaitsForWaits) {
  std::atomic<bool> ended{false};
  const auto seen = std::make_shared<std::promise<bool>>();
  std::thread thread = detail::startThread("waited-for", [&ended] { ended = true; });
  detail::startDetachedThread("nobody", [&, seen] {
    detail::leaveThread(thread);
    seen->set_value(ended);
  });
  EXPECT_TRUE(seen->get_future().get());
}

}  // namespace
}  // namespace tenure::test
