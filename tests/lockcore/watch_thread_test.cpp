#include "lockcore/runtime/watch_thread.hpp"

#include <chrono>
#include <future>
#include <memory>

#include <gtest/gtest.h>

namespace tenure {
namespace {

using namespace std::chrono_literals;

/// Asks for a wake-up and watches no file.
class Timed final : public Watched {
 public:
  void begin(WatchLoop& loop) override { loop.wakeAfter(*this, 1ms); }
  void changed(WatchLoop& /*loop*/, bool /*lost*/) override {}
  void timeOver(WatchLoop& loop) override {
    if (++times_ == 2) return twice.set_value();
    loop.wakeAfter(*this, 1ms);
  }

  std::promise<void> twice;

 private:
  int times_{0};
};

TEST(WatchThread, wakesWithoutAnyEvent) {
  WatchThread thread{Logger{}};
  const auto timed = std::make_shared<Timed>();
  auto twice = timed->twice.get_future();
  const auto handle = thread.watch(timed, WatchThread::Without::inotifyPossible);
  ASSERT_TRUE(handle);
  EXPECT_EQ(twice.wait_for(20s), std::future_status::ready);
  thread.stop();
}

}  // namespace
}  // namespace tenure
