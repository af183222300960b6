// The thread of the label, over a server that says nothing: nobody waits for it.
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/adapters/pod_label.hpp>

#include "net/test_server.hpp"
#include "support/eventually.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr Eventually eventually{20s};

class SilentServer : public testing::Test {
 protected:
  [[nodiscard]] PodLabelOptions options(std::chrono::milliseconds timeout) const {
    return {.cluster = {.server = "http://127.0.0.1:" + std::to_string(server_.port()), .inNamespace = "jobs"},
            .pod = "a",
            .selector = "app=a",
            .lookEvery = 100ms,
            .timeout = timeout};
  }
  [[nodiscard]] Logger logger() {
    return {LogLevel::info, [this](LogLevel, std::string_view line) {
              const std::lock_guard lock{mutex_};
              lines_.emplace_back(line);
            }};
  }
  [[nodiscard]] std::vector<std::string> lines() {
    const std::lock_guard lock{mutex_};
    return lines_;
  }

  const FencedTerm term_{{"lease", FencingToken{7}, "me"}, {}, {}};
  std::atomic<int> requests_{0};
  TestServer server_{[this](Peer& peer) {
    if (!peer.readRequest().empty()) ++requests_;
    peer.waitForEnd();
  }};
  std::mutex mutex_{};
  std::vector<std::string> lines_{};
};

TEST_F(SilentServer, doesNotHoldUpTheEndOfTheProgram) {
  const auto begin = std::chrono::steady_clock::now();
  {
    PodLabel label{options(std::chrono::hours{1})};
    label.elected(term_, {});
    ASSERT_TRUE(eventually([&] { return requests_ > 0; }));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s) << "not the hour that the request may take";
}

TEST_F(SilentServer, isToldOnce) {
  PodLabel label{options(20ms), logger()};
  label.elected(term_, {});
  ASSERT_TRUE(eventually([&] { return requests_ > 3; }));
  const auto told = lines();
  ASSERT_FALSE(told.empty());
  EXPECT_LE(told.size(), 2U) << "a request may end while it connects, or later";
  EXPECT_NE(told[0].find("routing: Kubernetes at http://127.0.0.1:"), std::string::npos) << told[0];
  EXPECT_NE(told[0].find("The election continues"), std::string::npos) << told[0];
}

}  // namespace
}  // namespace tenure::test
