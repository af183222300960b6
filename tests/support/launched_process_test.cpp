#include "support/launched_process.hpp"

#include <array>
#include <csignal>
#include <memory>
#include <poll.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "lockcore/child_process.hpp"

namespace tenure::test {
namespace {

/// Open for as long as a process holds its writing end; so its end shows the end of a process, reaped or not.
class HeldPipe {
 public:
  HeldPipe() {
    if (pipe(ends_.data()) != 0) ADD_FAILURE() << "pipe";
  }
  ~HeldPipe() {
    letGo();
    close(ends_[0]);
  }
  HeldPipe(const HeldPipe&) = delete;
  HeldPipe& operator=(const HeldPipe&) = delete;

  [[nodiscard]] int writing() const noexcept { return ends_[1]; }
  void letGo() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  /// What was written, up to 64 bytes; empty at the end. "(nothing)" if neither came in time.
  [[nodiscard]] std::string read() const {
    pollfd entry{ends_[0], POLLIN, 0};
    if (poll(&entry, 1, 20'000) != 1) return "(nothing)";
    std::array<char, 64> bytes{};
    const ssize_t got = ::read(ends_[0], bytes.data(), bytes.size());
    return {bytes.data(), static_cast<std::size_t>(got > 0 ? got : 0)};
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST(LaunchedProcess, tellsHowItEnded) {
  EXPECT_EQ((LaunchedProcess{{"sh", "-c", "exit 7"}}.wait()), 7);
  EXPECT_EQ(LaunchedProcess{{"/no/such/program"}}.wait(), 99);
  LaunchedProcess sleeper{{"sleep", "60"}};
  EXPECT_FALSE(sleeper.result());
  sleeper.signal(SIGTERM);
  EXPECT_EQ(sleeper.wait(), 128 + SIGTERM);
  EXPECT_EQ(sleeper.result(), 128 + SIGTERM) << "again";
}

TEST(LaunchedProcess, isPreparedInTheChild) {
  HeldPipe output;
  LaunchedProcess echo{{"echo", "hello"}, [&] { dup2(output.writing(), STDOUT_FILENO); }};
  EXPECT_EQ(output.read(), "hello\n");
  EXPECT_EQ(echo.wait(), 0);
}

TEST(LaunchedProcess, endsWithItsObject) {
  HeldPipe held;
  auto stopped = std::make_unique<LaunchedProcess>(std::vector<std::string>{"sleep", "60"});
  held.letGo();
  stopped->signal(SIGSTOP);
  stopped.reset();
  EXPECT_EQ(held.read(), "");
}

TEST(LaunchedProcess, endsWithTheTest) {
  HeldPipe held;
  const auto leave = []() -> int {
    const LaunchedProcess orphan{{"sleep", "60"}};
    _exit(0);
  };
  EXPECT_EQ(inChild(leave), 0);
  held.letGo();
  EXPECT_EQ(held.read(), "");
}

}  // namespace
}  // namespace tenure::test
