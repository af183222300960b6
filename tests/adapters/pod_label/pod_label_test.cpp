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

/// Gives and takes the label of its only pod; the first two attempts to take it fail.
class FailingServer : public testing::Test {
 protected:
  void serve(Peer& peer) {
    for (std::string request; !(request = peer.readRequest()).empty();) {
      const bool takes = request.find(R"("tenure.dev/role":null)") != std::string::npos;
      if (takes && ++takings_ < 3) {
        peer.write("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n");
        continue;
      }
      if (request.starts_with("PATCH")) leads_ = !takes;
      const std::string pod = std::string{R"({"kind":"Pod","metadata":{"name":"a","resourceVersion":"1")"} +
                              (leads_ ? R"(,"labels":{"tenure.dev/role":"leader"})" : "") + "}}";
      const bool lists = request.find("labelSelector") != std::string::npos;
      peer.reply(lists ? R"({"kind":"PodList","items":[)" + (leads_ ? pod : "") + "]}" : pod);
    }
  }

  std::atomic<int> takings_{0};
  std::atomic<bool> leads_{false};
  TestServer server_{[this](Peer& peer) { serve(peer); }};
};

TEST_F(FailingServer, losesTheLabelOfATermThatIsOverWhenItServesAgain) {
  PodLabel label{{.cluster = {.server = "http://127.0.0.1:" + std::to_string(server_.port()), .inNamespace = "jobs"},
                  .pod = "a",
                  .selector = "app=a",
                  .lookEvery = 100ms,
                  .timeout = 5s}};
  std::stop_source term;
  label.elected({{"lease", FencingToken{7}, "me"}, {}, {}}, term.get_token());
  ASSERT_TRUE(eventually([&] { return leads_.load(); }));
  term.request_stop();
  EXPECT_TRUE(eventually([&] { return !leads_; })) << takings_ << " attempts";
  EXPECT_EQ(takings_, 3);
}

}  // namespace
}  // namespace tenure::test
