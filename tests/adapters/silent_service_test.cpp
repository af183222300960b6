// Calls of adapters and of the listener's client end in their time where the service never answers.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <tenure/adapters/dynamodb_fence.hpp>
#include <tenure/adapters/pod_label.hpp>
#include <tenure/adapters/s3_fence.hpp>

#include "net/test_server.hpp"
#include "ops/src/client.hpp"
#include "support/lateness_probe.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr auto limit = 300ms;

/// Says nothing, or begins an answer that has no end.
class SilentService : public testing::TestWithParam<bool> {
 protected:
  static void expectInTime(const char* call, const std::function<bool()>& fails) {
    const LatenessProbe probe;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(fails()) << call;
    EXPECT_LE(std::chrono::steady_clock::now() - begin, limit + 100ms + 2 * probe.worst()) << call;
  }

  TestServer server_{[begins = GetParam()](Peer& peer) {
    if (peer.readRequest().empty()) return;
    if (begins) peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{");
    peer.waitForEnd();
  }};
  const std::string address_{"127.0.0.1:" + std::to_string(server_.port())};
  const FencedTerm term_{{"lease", FencingToken{7}, "me"}, {}, {}};
};

TEST_P(SilentService, theListenersClientWaitsNoLongerThanItsPatience) {
  expectInTime("askListener", [&] { return ops::askListener(address_, "/status", limit).has_error(); });
}

TEST_P(SilentService, aCallOfTheDynamoDbFenceEndsInItsTime) {
  DynamoDbFenceOptions options{.region = "r", .endpoint = "http://" + address_, .timeout = limit};
  options.guard.table = "t";
  setenv("AWS_ACCESS_KEY_ID", "key", 0);         // NOLINT(concurrency-mt-unsafe): before any thread that reads it
  setenv("AWS_SECRET_ACCESS_KEY", "secret", 0);  // NOLINT(concurrency-mt-unsafe)
  DynamoDbFence fence{options};
  const DynamoDbWrite put{.table = "t", .item = R"({"id":{"S":"7"}})"};
  expectInTime("write", [&] { return fence.write(term_, put).has_error(); });
  expectInTime("transact", [&] { return fence.transact(term_, {put}).has_error(); });
  expectInTime("highestSeen", [&] { return fence.highestSeen("lease").has_error(); });
}

TEST_P(SilentService, aCallOfTheS3FenceEndsInItsTimeWithAllRepetitions) {
  setenv("AWS_ACCESS_KEY_ID", "key", 0);         // NOLINT(concurrency-mt-unsafe): before any thread that reads it
  setenv("AWS_SECRET_ACCESS_KEY", "secret", 0);  // NOLINT(concurrency-mt-unsafe)
  S3Fence fence{
      {.bucket = "b", .region = "r", .endpoint = "http://" + address_, .timeout = limit, .requestTimeout = 100ms}};
  expectInTime("write", [&] { return fence.write(term_, {.key = "k", .bytes = "x"}).has_error(); });
  expectInTime("read", [&] { return fence.read("k").has_error(); });
}

TEST_P(SilentService, askingForTheRightsOnPodsEndsInItsTime) {
  const PodLabel label{{.cluster = {.server = "http://" + address_, .inNamespace = "jobs"},
                        .pod = "a",
                        .selector = "app=a",
                        .timeout = limit}};
  expectInTime("checkRights", [&] { return label.checkRights().has_error(); });
}

INSTANTIATE_TEST_SUITE_P(Of, SilentService, testing::Bool(),
                         [](const auto& one) { return std::string{one.param ? "OneThatBegins" : "One"}; });

}  // namespace
}  // namespace tenure::test
