// `tenure fence proxy` in front of a service that knows nothing about it.
#include <condition_variable>
#include <csignal>
#include <future>
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include <tenure/lockcore/clock.hpp>

#include "adapters/gateway/http_connection.hpp"
#include "adapters/gateway/ledger_service.hpp"
#include "adapters/gateway/proxy_process.hpp"
#include "election/ops/src/client.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
namespace http = boost::beast::http;
using test::HttpConnection;
using test::LedgerService;
using test::ProxyProcess;

TermStamp stamp(std::uint64_t token, std::string holder = "a#1") {
  return {"billing", FencingToken{token}, std::move(holder)};
}

/// A service whose answers a test can hold back.
class Door {
 public:
  void pass(const std::string& body) {
    std::unique_lock lock{mutex_};
    ++arrived_[body];
    changed_.notify_all();
    changed_.wait_for(lock, 30s, [&] { return open_ || !closedFor_.contains(body); });
  }
  void closeFor(const std::string& body) {
    const std::lock_guard lock{mutex_};
    closedFor_.insert(body);
  }
  void open() {
    const std::lock_guard lock{mutex_};
    open_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool waitFor(const std::string& body) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, 30s, [&] { return arrived_[body] > 0; });
  }
  [[nodiscard]] bool arrived(const std::string& body) { return arrivals(body) > 0; }
  [[nodiscard]] int arrivals(const std::string& body) {
    const std::lock_guard lock{mutex_};
    return arrived_[body];
  }

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::map<std::string, int> arrived_{};
  std::set<std::string> closedFor_{};
  bool open_{false};
};

class FenceProxy : public testing::Test {
 protected:
  ~FenceProxy() override { door_.open(); }

  [[nodiscard]] std::vector<std::string> arguments() const { return {"--lease", "billing", "--memory", memory_}; }
  ProxyProcess& start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = arguments();
    all.insert(all.end(), more.begin(), more.end());
    proxy_.emplace(service_.port(), all);
    return *proxy_;
  }
  [[nodiscard]] FenceResult<HttpReply> post(const TermStamp& term, const std::string& body) const {
    HttpConnection connection{proxy_->port()};
    const HttpFenceClient client{
        [&](const HttpCall& call, const HeaderLines& headers) { return connection.send(call, headers); }};
    return client.write(term, {"POST", "/ledger", body});
  }
  [[nodiscard]] HttpReply send(const HttpCall& call, const HeaderLines& headers = {}) const {
    return HttpConnection{proxy_->port()}.send(call, headers).value();
  }

  Door door_;
  LedgerService service_{[this](const LedgerService::Request& request, LedgerService::Response& response) {
    door_.pass(request.body());
    if (request.target() == "/large") response.body().assign(3'000'000, 'x');
    if (request.target() == "/forged") response.set("Fencing-Token", "billing=99");
  }};
  const test::TempDir directory_;
  const std::string memory_ = directory_.file("fence.db");
  std::optional<ProxyProcess> proxy_{};
};

TEST_F(FenceProxy, anUnmodifiedServiceIsFenced) {
  start();
  EXPECT_EQ(post(stamp(5), "one").value().status, 200);
  EXPECT_EQ(post(stamp(6, "b#2"), "two").value().status, 200);
  const auto refused = post(stamp(5), "three");
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(*FenceError{refused.error()}.stale(), (StaleToken{FencingToken{5}, FencingToken{6}}));
  const auto foreign = post(stamp(6, "c#3"), "four");
  ASSERT_TRUE(foreign.has_error());
  EXPECT_EQ(*FenceError{foreign.error()}.foreign(), (ForeignTerm{FencingToken{6}, "b#2"}));
  EXPECT_EQ(service_.bodies(), (std::vector<std::string>{"one", "two"}));
}

TEST_F(FenceProxy, theCommandLineSaysWhatPassesWithoutAToken) {
  using Statuses = std::pair<int, int>;
  const auto ofReadAndWrite = [&](const std::vector<std::string>& options) {
    start(options);
    const int read = send({"GET", "/", ""}).status;
    return Statuses{read, send({"POST", "/", "one"}).status};
  };
  EXPECT_EQ(ofReadAndWrite({}), Statuses(200, 428));
  EXPECT_EQ(ofReadAndWrite({"--without-token", "refuse-writes"}), Statuses(200, 428));
  EXPECT_EQ(ofReadAndWrite({"--without-token", "refuse"}), Statuses(428, 428));
  EXPECT_EQ(service_.bodies(), std::vector<std::string>{});
  EXPECT_EQ(ofReadAndWrite({"--without-token", "pass"}), Statuses(200, 200));
  EXPECT_EQ(service_.bodies(), std::vector<std::string>{"one"});
}

TEST_F(FenceProxy, countsRequestsByWhatBecameOfThem) {
  const std::string http = "unix:" + directory_.file("http.sock");
  start({"--http", http});
  EXPECT_EQ(post(stamp(6), "one").value().status, 200);
  EXPECT_TRUE(post(stamp(5), "two").has_error());
  EXPECT_EQ(send({"GET", "/", ""}).status, 200);
  EXPECT_EQ(send({"POST", "/", "three"}).status, 428);
  const auto answer = ops::askListener(http, "/metrics", std::chrono::seconds{30});
  ASSERT_TRUE(answer) << answer.error().message;
  const std::string& text = *answer;
  for (const char* line :
       {"{outcome=\"forwarded\"} 2\n", "{outcome=\"stale-token\"} 1\n", "{outcome=\"token-required\"} 1\n"}) {
    EXPECT_NE(text.find(std::string{"tenure_proxy_requests_total"} + line), std::string::npos) << line << text;
  }
}

TEST_F(FenceProxy, remembersWhenItIsKilled) {
  start();
  EXPECT_TRUE(post(stamp(5), "one"));
  EXPECT_EQ(proxy_->end(SIGKILL), 128 + SIGKILL);
  start();
  EXPECT_TRUE(post(stamp(4), "two").has_error());
  EXPECT_TRUE(post(stamp(5), "three"));
  EXPECT_EQ(service_.bodies(), (std::vector<std::string>{"one", "three"}));
}

TEST_F(FenceProxy, afterAKillALaterTermWaitsForWhatTheServiceMayBeAtWorkOn) {
  start({"--drain-timeout", "500ms"});
  EXPECT_TRUE(post(stamp(5), "one"));
  proxy_->end(SIGKILL);
  const Instant begin = readClock();  // the proxy counts from its start, which comes after it
  start({"--drain-timeout", "500ms"});
  EXPECT_TRUE(post(stamp(5), "two")) << "the same term goes on";
  EXPECT_TRUE(post(stamp(6), "three"));
  EXPECT_GE(elapsedForHolder(begin, readClock()), 500ms);
}

TEST_F(FenceProxy, aLaterTermWaitsForTheAnswersToTheTermBefore) {
  start();
  door_.closeFor("older");
  auto older = std::async(std::launch::async, [&] { return post(stamp(5), "older"); });
  ASSERT_TRUE(door_.waitFor("older"));
  auto newer = std::async(std::launch::async, [&] { return post(stamp(6, "b#2"), "newer"); });
  while (post(stamp(5), "late").has_value()) {
  }
  EXPECT_EQ(newer.wait_for(200ms), std::future_status::timeout);
  EXPECT_FALSE(door_.arrived("newer"));
  door_.open();
  EXPECT_EQ(older.get().value().status, 200) << "it had passed, and was done before the later term";
  EXPECT_EQ(newer.get().value().status, 200);
  const auto bodies = service_.bodies();
  EXPECT_EQ(bodies.back(), "newer");
  EXPECT_EQ(*std::prev(bodies.end(), 2), "older");
}

TEST_F(FenceProxy, aServiceThatHangsHoldsUpALaterTermForTheDrainTimeoutOnly) {
  start({"--drain-timeout", "300ms"});
  door_.closeFor("older");
  auto older = std::async(std::launch::async, [&] { return post(stamp(5), "older"); });
  ASSERT_TRUE(door_.waitFor("older"));
  EXPECT_EQ(post(stamp(6, "b#2"), "newer").value().status, 200);
  EXPECT_EQ(older.get().value().status, 502);
}

TEST_F(FenceProxy, aRequestThatTheServiceDoesNotAnswerInTimeIsNotSentAgain) {
  start({"--service-timeout", "1s"});
  const HeaderLines term{{"Fencing-Token", "billing=5"}};
  EXPECT_EQ(send({"DELETE", "/", "first"}, term).status, 200);  // leaves a connection that is reused
  EXPECT_EQ(send({"GET", "/", ""}).status, 200);
  door_.closeFor("");
  EXPECT_EQ(send({"DELETE", "/", ""}, term).status, 504);
  EXPECT_EQ(door_.arrivals(""), 2) << "the GET, and one DELETE";
}

TEST_F(FenceProxy, aFormerLeaderThatSendsItsBodySlowlyIsCut) {
  start();
  HttpConnection slow{proxy_->port()};
  ASSERT_TRUE(
      slow.sendRaw("POST /ledger HTTP/1.1\r\nHost: x\r\nFencing-Token: billing=5;holder=\"a#1\"\r\nContent-Length: "
                   "100\r\n\r\nhalf"));
  ASSERT_EQ(post(stamp(5), "same term").value().status, 200) << "it passes side by side";
  const Instant begin = readClock();
  EXPECT_EQ(post(stamp(6, "b#2"), "newer").value().status, 200);
  EXPECT_LT(elapsedForHolder(begin, readClock()), 5s) << "long before any time-out";
  EXPECT_FALSE(slow.read());
  EXPECT_EQ(service_.bodies().back(), "newer");
}

TEST_F(FenceProxy, theRestGoesThroughUnchanged) {
  start();
  const HttpReply echoed = send({"POST", "/a?b=c%20d", "the body"}, {{"Fencing-Token", "billing=5"},
                                                                     {"X-Odd", "a, \"b\""},
                                                                     {"Cookie", "k=v"},
                                                                     {"Connection", "keep-alive, TE"},
                                                                     {"Keep-Alive", "timeout=5"},
                                                                     {"TE", "trailers"}});
  EXPECT_EQ(echoed.status, 200);
  EXPECT_EQ(echoed.body, "the body");
  const auto request = service_.requests().at(0);
  EXPECT_EQ(request.target(), "/a?b=c%20d");
  EXPECT_EQ(request[http::field::host], "ledger");
  EXPECT_EQ(request["Fencing-Token"], "billing=5");
  EXPECT_EQ(request["X-Odd"], "a, \"b\"");
  EXPECT_EQ(request["Cookie"], "k=v");
  EXPECT_EQ(request.count("Keep-Alive"), 0U);
  EXPECT_EQ(request.count("TE"), 0U);
  EXPECT_EQ(request[http::field::via], "1.1 tenure-fence");
}

TEST_F(FenceProxy, bodiesStreamInBothDirections) {
  start();
  const std::string large(5'000'000, 'b');
  EXPECT_EQ(send({"POST", "/", large}, {{"Fencing-Token", "billing=5"}}).body, large);
  EXPECT_EQ(send({"GET", "/large", ""}).body.size(), 3'000'000U);
  HttpConnection chunked{proxy_->port()};
  ASSERT_TRUE(
      chunked.sendRaw("POST / HTTP/1.1\r\nHost: x\r\nFencing-Token: billing=5\r\nTransfer-Encoding: chunked\r\n\r\n"));
  ASSERT_TRUE(chunked.sendRaw("3\r\nabc\r\n"));
  ASSERT_TRUE(chunked.sendRaw("4\r\ndefg\r\n0\r\n\r\n"));
  EXPECT_EQ(chunked.read()->body(), "abcdefg");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep memory of their own beside it
  EXPECT_LT(proxy_->resident(), 64U << 20U);
#endif
}

TEST_F(FenceProxy, connectionsAreKeptAndPipelined) {
  start();
  HttpConnection one{proxy_->port()};
  const std::string get = "GET /x HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_TRUE(one.sendRaw(get + get + "HEAD /large HTTP/1.1\r\nHost: x\r\n\r\n" + get));
  EXPECT_EQ(one.read()->result_int(), 200U);
  EXPECT_EQ(one.read()->result_int(), 200U);
  const auto head = one.read(true);
  EXPECT_EQ((*head)[http::field::content_length], "3000000");
  EXPECT_EQ(one.read()->result_int(), 200U);
  ASSERT_TRUE(one.sendRaw("GET /x HTTP/1.0\r\n\r\n"));
  EXPECT_FALSE(one.read()->keep_alive());
}

TEST_F(FenceProxy, whoExpectsContinueIsRefusedBeforeTheBody) {
  start();
  EXPECT_TRUE(post(stamp(6), "one"));
  HttpConnection stale{proxy_->port()};
  const std::string head =
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\nFencing-Token: billing=";
  ASSERT_TRUE(stale.sendRaw(head + "5\r\n\r\n"));
  EXPECT_EQ(stale.read()->result_int(), 409U);
  HttpConnection good{proxy_->port()};
  ASSERT_TRUE(good.sendRaw(head + "6;holder=\"a#1\"\r\n\r\n"));
  EXPECT_EQ(good.read()->result_int(), 100U);
  ASSERT_TRUE(good.sendRaw("body"));
  EXPECT_EQ(good.read()->body(), "body");
}

TEST_F(FenceProxy, onlyAFencesRejectionBearsTheHeader) {
  start();
  EXPECT_EQ(send({"GET", "/forged", ""}).fencingToken, "");
}

TEST_F(FenceProxy, aServiceThatIsNotThereIsTold) {
  std::optional<LedgerService> gone;
  gone.emplace();
  const unsigned short port = gone->port();
  gone.reset();
  proxy_.emplace(port, arguments());
  EXPECT_EQ(send({"GET", "/", ""}).status, 502);
  EXPECT_EQ(send({"POST", "/", "x"}, {{"Fencing-Token", "billing=5"}}).status, 502);
}

TEST_F(FenceProxy, stopsWhenTheRequestsUnderWayHaveEnded) {
  start();
  door_.closeFor("slow");
  auto slow = std::async(std::launch::async, [&] { return post(stamp(5), "slow"); });
  ASSERT_TRUE(door_.waitFor("slow"));
  HttpConnection idle{proxy_->port()};
  ASSERT_TRUE(idle.send({"GET", "/", ""}, {}));
  proxy_->signal(SIGTERM);
  EXPECT_FALSE(idle.read()) << "idle connections are closed at once";
  door_.open();
  EXPECT_EQ(slow.get().value().status, 200);
  EXPECT_EQ(proxy_->wait(), 0);
  start({"--drain-timeout", "1h"});
  EXPECT_TRUE(post(stamp(6), "after a clean end nobody waits"));
}

TEST_F(FenceProxy, stopsAtOnceWhenNothingIsUnderWay) {
  start();
  EXPECT_EQ(proxy_->end(SIGTERM), 0);
}

TEST_F(FenceProxy, aSecondSignalEndsItAtOnce) {
  start();
  door_.closeFor("slow");
  auto slow = std::async(std::launch::async, [&] { return post(stamp(5), "slow"); });
  ASSERT_TRUE(door_.waitFor("slow"));
  proxy_->signal(SIGTERM);
  while (HttpConnection{proxy_->port()}.connect()) {  // until it has accepted the first
  }
  EXPECT_EQ(proxy_->end(SIGINT), 1);
  EXPECT_TRUE(slow.get().has_error());
}

TEST_F(FenceProxy, oneMemoryHasOneProxy) {
  start();
  EXPECT_THROW(ProxyProcess(service_.port(), arguments()), std::runtime_error);
}

}  // namespace
}  // namespace tenure
