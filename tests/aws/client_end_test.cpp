// A client that is destroyed in one of its own handlers, on the thread of its network: a real client over real sockets.
#include "client_fixture.hpp"
#include "lockcore/aws/object_client.hpp"

namespace tenure::aws::test {
namespace {

using namespace std::chrono_literals;

// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): a fixture of GoogleTest, which destroys it itself
class ClientEndTest : public ClientTest {
 protected:
  ClientEndTest() { set("AWS_ENDPOINT_URL_DYNAMODB", service_.url()); }
  ~ClientEndTest() override { over_ = true; }

  /// Holds requests for T.Other until the round is over. One that comes late belongs to the next round, if there is
  /// one.
  net::HttpOutcome serve(const net::HttpRequest& request) {
    if (headerOf(request, "X-Amz-Target") == "T.Other") hold();
    return dynamo_.answer(request);
  }
  void hold() {
    const int mine = round_;
    (void)eventually([&] { return over_ || round_ != mine; });
  }

  std::atomic<int> round_{0};
  std::atomic<bool> over_{false};
  LocalServer service_{[this](const auto&, const net::HttpRequest& request) { return serve(request); }};
};

/// The handler runs on the network's thread, and other requests are under way.
TEST_F(ClientEndTest, inAHandlerOnTheNetworksThread) {
  useKeys({"AKIA1", secretKey, tokenText});
  for (int round = 0; round < 20; ++round) {
    auto client = make({}, true);
    JsonClient& used = *client;
    constexpr int others = 6;
    std::atomic<int> ended{0};
    std::atomic<int> lost{0};
    std::atomic<bool> allStarted{false};
    used.call("T.First", "{}", 20s, [&](const JsonOutcome& outcome) {
      EXPECT_TRUE(outcome);
      EXPECT_TRUE(eventually([&] { return allStarted.load(); }));
      client.reset();
      ++ended;
    });
    for (int i = 0; i < others; ++i) {
      used.call("T.Other", "{}", 20s, [&](const JsonOutcome& outcome) {
        if (!outcome) ++lost;
        ++ended;
      });
    }
    allStarted = true;
    ASSERT_TRUE(eventually([&] { return ended == others + 1; })) << ended;
    EXPECT_EQ(lost, others);
    ++round_;
  }
}

/// Both threads of the cache are busy: one fetches from an endpoint that hangs, and a call waits for it.
TEST_F(ClientEndTest, whileAFetchHangs) {
  const Keys keys{"ASIA1", secretKey, tokenText};
  dynamo_.allow(keys);
  std::atomic<int> asked{0};
  LocalServer agent{[&](const auto&, const auto&) -> net::HttpOutcome {
    if (++asked > 1) hold();
    return reply(200, keysJson(keys, 10s), {{"Date", httpDate(noon)}});
  }};
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.url() + "/keys");
  limits_.container.timeout = 60s;
  auto client = make({}, true);
  JsonClient& used = *client;
  ASSERT_EQ(call(used).value().status, 200);
  // Half of their lifetime is left when the refresh begins, and the refresh hangs.
  ASSERT_TRUE(eventually([&] { return asked == 2; }));
  std::atomic<int> ended{0};
  dynamo_.expireAll();
  used.call("T.Waits", "{}", 60s, [&](const JsonOutcome& outcome) {
    EXPECT_TRUE(!outcome || outcome->status == 400);
    ++ended;
  });
  ASSERT_TRUE(eventually([&] { return dynamo_.refused() == 1; }));
  dynamo_.allow(keys);
  used.call("T.Ends", "{}", 60s, [&](const JsonOutcome& outcome) {
    EXPECT_TRUE(outcome && outcome->status == 200);
    client.reset();
    ++ended;
  });
  EXPECT_TRUE(eventually([&] { return ended == 2; })) << ended;
  ++round_;
}

/// The handler may run before its own call has returned.
TEST_F(ClientEndTest, whileTheCallItselfGoesOn) {
  useKeys({"AKIA1", secretKey, tokenText});
  for (int round = 0; round < 200; ++round) {
    auto client = make({}, true);
    std::atomic<bool> ended{false};
    JsonClient& used = *client;
    // No time is left, so the answer comes at once: from the cache in even rounds, from the network in odd ones.
    if (round % 2 == 1) {
      ASSERT_TRUE(call(used));
    }
    used.call("T.X", "{}", std::chrono::nanoseconds{0}, [&](const JsonOutcome&) {
      client.reset();
      ended = true;
    });
    ASSERT_TRUE(eventually([&] { return ended.load(); }));
  }
}

TEST_F(ClientEndTest, whileManyCallsBegin) {
  useKeys({"AKIA1", secretKey, tokenText});
  for (int round = 0; round < 50; ++round) {
    auto client = make({}, true);
    std::atomic<int> ended{0};
    constexpr int all = 40;
    for (int i = 0; i < all; ++i) client->call("T.X", "{}", 20s, [&](const JsonOutcome&) { ++ended; });
    client.reset();
    ASSERT_TRUE(eventually([&] { return ended == all; })) << ended;
  }
}

TEST_F(ClientEndTest, anObjectClientAnswersWhatIsUnderWay) {
  JsonClientOptions options;
  options.region = "eu-central-1";
  options.endpoint = service_.url();
  options.credentials = ExplicitCredentials{"AKIA1", secretKey, {}};
  auto client = makeObjectClient(std::move(options), Addressing::path);
  std::atomic<int> lost{0};
  ObjectRequest request{.bucket = "bucket", .key = "object", .headers = {{"X-Amz-Target", "T.Other"}}};
  client->call(std::move(request), 10min, [&](const ObjectOutcome& outcome) { lost += outcome ? 0 : 1; });
  client.reset();
  EXPECT_TRUE(eventually([&] { return lost == 1; }));
}

}  // namespace
}  // namespace tenure::aws::test
