// Credentials that expire every second while calls continue. Real issuers are reached over real sockets.
#include <thread>

#include "client_fixture.hpp"
#include "support/lateness_probe.hpp"

namespace tenure::aws::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class RotationTest : public ClientTest {
 protected:
  /// New keys with each request; the stub refuses them once their second is over.
  Keys issue() {
    Keys keys{"ASIA" + std::to_string(++issued_), secretKey + std::to_string(issued_), tokenText};
    dynamo_.allow(keys, Clock::now() + lifetime);
    return keys;
  }

  net::HttpOutcome instance(const net::HttpRequest& request) {
    if (request.method == "PUT") return reply(200, "token");
    if (request.target == "/latest/meta-data/iam/security-credentials/") return reply(200, "role");
    const Keys keys = issue();
    return reply(200, keysJson(keys, lifetime), {{"Date", httpDate(noon)}});
  }

  /// Four threads that call without a pause, for a little more than three lifetimes.
  void callUnderLoad(JsonClient& client) {
    const tenure::test::LatenessProbe probe;
    std::atomic<int> bad{0};
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    const auto end = Clock::now() + 3500ms;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        while (Clock::now() < end) {
          const JsonOutcome got = call(client, 5s);
          ++done;
          if (!got || got->status != 200) ++bad;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(done, 20);
    EXPECT_GE(issued_, 4);
    EXPECT_LE(issued_, 30) << "one fetch for all";
    // Keys are used for nine tenths of their second. On a machine that stands still for the rest they end on the way.
    if (probe.worst() >= 100ms) return;
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(dynamo_.refused(), 0) << "replaced ahead of the end, not after a rejection";
  }

  static constexpr std::chrono::seconds lifetime{1};
  std::atomic<int> issued_{0};
};

TEST_F(RotationTest, noCallFails) {
  environment_.variables.erase("AWS_EC2_METADATA_DISABLED");
  responder_ = [this](const net::Origin& origin, const net::HttpRequest& request) {
    return origin.host == "169.254.169.254" ? instance(request) : dynamo_.answer(request);
  };
  const auto client = make();
  callUnderLoad(*client);
}

TEST_F(RotationTest, noCallFailsOverSockets) {
  environment_.variables.erase("AWS_EC2_METADATA_DISABLED");
  LocalServer metadata{[this](const auto&, const net::HttpRequest& request) { return instance(request); }};
  LocalServer service{[this](const auto&, const net::HttpRequest& request) { return dynamo_.answer(request); }};
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url());
  set("AWS_ENDPOINT_URL_DYNAMODB", service.url());
  const auto client = make({}, true);
  callUnderLoad(*client);
}

/// An endpoint that needs three times as long as a call may take: a call that waits for it fails.
TEST_F(RotationTest, noCallWaitsForASlowIssuer) {
  constexpr std::chrono::seconds longer{4};
  responder_ = [&](const net::Origin& origin, const net::HttpRequest& request) -> net::HttpOutcome {
    if (origin.host != "127.0.0.1") return dynamo_.answer(request);
    std::this_thread::sleep_for(1200ms);  // lint-allow(sleep): a slow issuer is what this test is about
    const Keys keys{"ASIA" + std::to_string(++issued_), secretKey + std::to_string(issued_), tokenText};
    dynamo_.allow(keys, Clock::now() + longer);
    return reply(200, keysJson(keys, longer), {{"Date", httpDate(noon)}});
  };
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/keys");
  const auto client = make();
  ASSERT_TRUE(call(*client, 20s)) << "the first one has to wait";
  int late = 0;
  EXPECT_TRUE(eventually([&] {
    const JsonOutcome got = call(*client, 400ms);
    if (!got || got->status != 200) ++late;
    return issued_ >= 3;
  }));
  EXPECT_EQ(late, 0) << "calls that waited";
  EXPECT_EQ(dynamo_.refused(), 0);
}

}  // namespace
}  // namespace tenure::aws::test
