// Requests that nobody should send to `tenure fence proxy`.
#include <csignal>
#include <fstream>
#include <list>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include <tenure/lockcore/clock.hpp>

#include "adapters/gateway/http_connection.hpp"
#include "adapters/gateway/ledger_service.hpp"
#include "adapters/gateway/proxy_process.hpp"
#include "adapters/test_database.hpp"
#include "support/seeded_random.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using test::HttpConnection;
using test::LedgerService;
using test::ProxyProcess;

class HostileClients : public testing::Test {
 protected:
  ProxyProcess& start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{"--lease", "billing", "--memory", memory_};
    all.insert(all.end(), more.begin(), more.end());
    proxy_.emplace(service_.port(), all);
    return *proxy_;
  }
  /// The status of the answer to these bytes; 0: the connection ended without one.
  [[nodiscard]] unsigned statusOf(const std::string& bytes) const {
    HttpConnection connection{proxy_->port()};
    (void)connection.sendRaw(bytes);
    const auto response = connection.read();
    return response ? response->result_int() : 0;
  }
  [[nodiscard]] unsigned withToken(const std::string& header) const {
    return statusOf("POST / HTTP/1.1\r\nHost: x\r\n" + header + "\r\nContent-Length: 1\r\n\r\nx");
  }
  void expectServing(std::uint64_t token = 1'000) const {
    HttpConnection connection{proxy_->port()};
    const auto reply = connection.send({"POST", "/", "good"}, {{"Fencing-Token", "billing=" + std::to_string(token)}});
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200);
  }

  LedgerService service_{};
  const test::TempDir directory_;
  const std::string memory_ = directory_.file("fence.db");
  std::optional<ProxyProcess> proxy_{};
};

TEST_F(HostileClients, tokensThatAreNoneAreRefused) {
  start();
  for (const std::string token : {"1000000000000000000000000000000", "-1", "0", "", "1.5", "99999999999999999999",
                                  "\"99999999999999999999\"", "1;holder=\"a", "1, billing=2", "1;x=1"}) {
    EXPECT_EQ(withToken("Fencing-Token: billing=" + token), 400U) << token;
  }
  EXPECT_EQ(withToken("Fencing-Token: billing=7\r\nFencing-Token: billing=7"), 400U);
  EXPECT_EQ(withToken("Fencing-Token: billing=7\r\nfencing-token: billing=8"), 400U);
  EXPECT_EQ(withToken("Fencing-Token: elsewhere=9000"), 403U);
  EXPECT_EQ(withToken("Fencing-Token: billing=" + std::string(9'000, '1')), 400U);
  EXPECT_EQ(withToken("X: y"), 428U);
  EXPECT_EQ(test::TestDatabase{memory_}.number("SELECT count(*) FROM tenure_fence_guard"), 0)
      << "nothing is remembered";
  EXPECT_TRUE(service_.bodies().empty());
  expectServing();
}

TEST_F(HostileClients, requestsThatWouldBeReadInTwoWaysAreRefused) {
  start();
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nFencing-Token: billing=5\r\n";
  for (const std::string more :
       {"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
        "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy", "Content-Length: -1\r\n\r\n", "Content-Length: 1x\r\n\r\n",
        "Content-Length: 99999999999999999999999\r\n\r\n", "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: identity\r\n\r\n", "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "Transfer-Encoding: chunked\r\n\r\n-1\r\n", "Bad Header: x\r\n\r\n",
        "X: a\x01\r\n\r\n"}) {
    const unsigned status = statusOf(head + more);
    EXPECT_TRUE(status == 0 || status == 400 || status == 501) << status << " for " << more;
  }
  EXPECT_EQ(statusOf("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"), 501U);
  EXPECT_EQ(statusOf("CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n"), 501U);
  EXPECT_EQ(statusOf(std::string(100, '\0')), 400U);
  EXPECT_TRUE(service_.bodies().empty());
  expectServing();
}

TEST_F(HostileClients, headersThatAreTooLargeAreRefused) {
  start();
  EXPECT_EQ(statusOf("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(20'000, 'a') + "\r\n\r\n"), 431U);
  EXPECT_EQ(statusOf("GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n\r\n"), 431U);
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 5'000; ++i) many += "A: b\r\n";
  EXPECT_EQ(statusOf(many + "\r\n"), 431U);
  expectServing();
}

TEST_F(HostileClients, slowClientsAreCutAndHoldNobodyUp) {
  start({"--client-timeout", "500ms"});
  std::list<HttpConnection> slow;
  for (int i = 0; i < 200; ++i) {
    slow.emplace_back(proxy_->port());
    ASSERT_TRUE(slow.back().sendRaw("POST / HTTP/1.1\r\nHost"));
  }
  expectServing();
  for (HttpConnection& connection : slow) {
    EXPECT_FALSE(connection.read()) << "cut, without a word";
  }
  HttpConnection body{proxy_->port()};
  ASSERT_TRUE(
      body.sendRaw("POST / HTTP/1.1\r\nHost: x\r\nFencing-Token: billing=1000\r\nContent-Length: 9\r\n\r\nhalf"));
  EXPECT_FALSE(body.read());
  EXPECT_EQ(service_.bodies(), std::vector<std::string>{"good"});
}

TEST_F(HostileClients, connectionsAreBounded) {
  start({"--max-connections", "20"});  // one address may have half of them
  std::list<HttpConnection> open;
  for (int i = 0; i < 10; ++i) {
    open.emplace_back(proxy_->port());
    ASSERT_TRUE(open.back().sendRaw(
        "POST / HTTP/1.1\r\nHost: x\r\nFencing-Token: billing=7\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"));
    ASSERT_EQ(open.back().read()->result_int(), 100U) << "its request is under way";
  }
  EXPECT_EQ(statusOf(""), 503U);
  open.clear();
  while (statusOf("GET / HTTP/1.1\r\nHost: x\r\n\r\n") != 200) {
  }
}

TEST_F(HostileClients, memoryStaysBounded) {
  start({"--client-timeout", "30s"});
  const std::size_t before = proxy_->resident();
  std::list<HttpConnection> open;
  for (int i = 0; i < 500; ++i) {
    open.emplace_back(proxy_->port());
    ASSERT_TRUE(open.back().sendRaw("POST / HTTP/1.1\r\nX: " + std::string(15'000, 'a')));
  }
  expectServing();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep memory of their own beside it
  EXPECT_LT(proxy_->resident() - before, 500U * (80U << 10U)) << "80 KiB a connection";
#else
  EXPECT_GT(before, 0U);
#endif
}

TEST_F(HostileClients, randomBytesNeverEndIt) {
  start({"--client-timeout", "50ms"});
  test::SeededRandom random{20261121};
  const std::string good =
      "POST /x HTTP/1.1\r\nHost: x\r\nFencing-Token: billing=5;holder=\"a\"\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n0\r\n\r\n";
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good;
    for (auto changes = 1 + random.below(4); changes > 0; --changes) {
      const std::size_t at = random.below(bytes.size());
      if (random.below(3) == 0) {
        bytes.erase(at, random.below(20));
      } else {
        bytes[at] = static_cast<char>(random.next());
      }
    }
    HttpConnection connection{proxy_->port()};
    (void)connection.sendRaw(bytes);
    connection.close();
  }
  expectServing();
}

TEST_F(HostileClients, forgedTokensAreRefusedWhereTheyMustBeSigned) {
  const std::string keys = directory_.file("keys");
  std::ofstream{keys} << "# two keys while one is changed\nold b29vb29vb29vb29vb29vb29vb29vb29vb29vb29vb28=\n"
                      << "new bm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm4=\n";
  chmod(keys.c_str(), 0600);
  start({"--keys", keys, "--audience", "ledger", "--signed-body-limit", "1000"});
  EXPECT_EQ(withToken("Fencing-Token: billing=9000"), 403U);
  EXPECT_EQ(withToken("Fencing-Token: billing=9000;kid=\"old\";sig=:" + std::string(43, 'A') + "=:"), 403U);
  EXPECT_EQ(test::TestDatabase{memory_}.number("SELECT count(*) FROM tenure_fence_guard"), 0);
  const FenceSigner signers[] = {{{"old", std::string(32, 'o')}, "ledger"}, {{"new", std::string(32, 'n')}, "ledger"}};
  for (const FenceSigner& key : signers) {
    HttpConnection connection{proxy_->port()};
    const HttpFenceClient client{
        [&](const HttpCall& call, const HeaderLines& headers) { return connection.send(call, headers); }, key};
    const auto written = client.write(TermStamp{"billing", FencingToken{5}, "a#1"}, {"POST", "/pay", "1 EUR"});
    ASSERT_TRUE(written) << FenceError{written.error()}.message;
    EXPECT_EQ(written->status, 200) << written->body;
    // The same headers on another body, and on another target.
    const auto headers = fenceHeaders({"billing", FencingToken{5}, "a#1"}, "POST", "/pay", "1 EUR", &key);
    EXPECT_EQ(connection.send({"POST", "/pay", "9 EUR"}, headers)->status, 403);
    EXPECT_EQ(connection.send({"POST", "/steal", "1 EUR"}, headers)->status, 403);
  }
  HttpConnection large{proxy_->port()};
  const std::string body(2'000, 'x');
  const FenceSigner& key = signers[1];
  const auto headers = fenceHeaders({"billing", FencingToken{5}, "a#1"}, "POST", "/", body, &key);
  EXPECT_EQ(large.send({"POST", "/", body}, headers)->status, 413);
  EXPECT_EQ(service_.bodies(), (std::vector<std::string>{"1 EUR", "1 EUR"}));
}

/// A component before the proxy removes headers that only it may set; it does not look for them behind a body.
TEST_F(HostileClients, trailersNeverBecomeHeaders) {
  const FenceSigner key{{"new", std::string(32, 'n')}, "ledger"};
  const std::string keys = directory_.file("keys");
  std::ofstream{keys} << "new bm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm4=\n";
  chmod(keys.c_str(), 0600);
  const std::string trailers = "3\r\nabc\r\n0\r\nX-User: root\r\nCookie: a=b\r\n\r\n";
  for (const bool withKeys : {false, true}) {
    proxy_.reset();
    start(withKeys ? std::vector<std::string>{"--keys", keys, "--audience", "ledger"} : std::vector<std::string>{});
    std::string head = "POST /pay HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n";
    for (const auto& [name, value] :
         fenceHeaders({"billing", FencingToken{5}, "a#1"}, "POST", "/pay", "abc", withKeys ? &key : nullptr)) {
      head += name + ": " + value + "\r\n";
    }
    EXPECT_EQ(statusOf(head + "\r\n" + trailers), 200U);
    const auto request = service_.requests().back();
    EXPECT_EQ(request.body(), "abc");
    EXPECT_EQ(request.count("X-User"), 0U) << withKeys;
    EXPECT_EQ(request.count("Cookie"), 0U) << withKeys;
  }
}

/// A client without a key cannot make the proxy store bodies.
TEST_F(HostileClients, bodiesAreReadOnlyForTokensThatAreSigned) {
  const std::string keys = directory_.file("keys");
  std::ofstream{keys} << "new bm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm4=\n";
  chmod(keys.c_str(), 0600);
  start({"--keys", keys, "--audience", "ledger"});
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 900000\r\n";
  EXPECT_EQ(statusOf(head + "Fencing-Token: billing=9;kid=\"new\";sig=:" + std::string(43, 'A') + "=:\r\n\r\n"), 403U);
  EXPECT_EQ(statusOf(head + "Fencing-Token: billing=9\r\n\r\n"), 403U);
  EXPECT_EQ(statusOf(head + "\r\n"), 428U);
}

TEST_F(HostileClients, keysThatEverybodyMayReadAreRefused) {
  const std::string keys = directory_.file("keys");
  std::ofstream{keys} << "old b29vb29vb29vb29vb29vb29vb29vb29vb29vb29vb28=\n";
  chmod(keys.c_str(), 0644);
  EXPECT_THROW(start({"--keys", keys, "--audience", "ledger"}), std::runtime_error);
  chmod(keys.c_str(), 0640);
  EXPECT_NO_THROW(start({"--keys", keys, "--audience", "ledger"}));
}

}  // namespace
}  // namespace tenure
