// What one client, one service or one former leader can take away from the others of `tenure fence proxy`.
#include <csignal>
#include <fstream>
#include <future>
#include <list>
#include <mutex>
#include <sys/stat.h>

#include <boost/asio/read_until.hpp>
#include <gtest/gtest.h>

#include "adapters/gateway/http_connection.hpp"
#include "adapters/gateway/ledger_service.hpp"
#include "adapters/gateway/proxy_process.hpp"
#include "adapters/gateway/raw_service.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using test::HttpConnection;
using test::LedgerService;
using test::ProxyProcess;
using test::RawService;

constexpr std::size_t mebibyte = 1U << 20U;
/// Many times the size of any buffer of the proxy, or of the two sockets.
constexpr std::size_t flood = 48 * mebibyte;

constexpr const char* ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

std::string post(int token) {
  return "POST /x HTTP/1.1\r\nHost: h\r\nFencing-Token: billing=" + std::to_string(token) +
         "\r\nContent-Length: 1\r\n\r\nx";
}

class ProxyLimits : public testing::Test {
 protected:
  ProxyProcess& start(unsigned short service, const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{"--lease", "billing", "--memory", directory_.file("fence.db")};
    all.insert(all.end(), more.begin(), more.end());
    proxy_.emplace(service, all);
    return *proxy_;
  }
  [[nodiscard]] unsigned statusOf(const std::string& bytes) const {
    HttpConnection connection{proxy_->port()};
    (void)connection.sendRaw(bytes);
    const auto response = connection.read();
    return response ? response->result_int() : 0;
  }
  void expectSmall() const {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep memory of their own beside it
    EXPECT_LT(proxy_->resident(), 64 * mebibyte);
#endif
  }

  const test::TempDir directory_;
  std::optional<ProxyProcess> proxy_{};
};

TEST_F(ProxyLimits, anEndlessChunkExtensionOrTrailerOfAClientIsCut) {
  LedgerService service;
  start(service.port());
  const std::string head = " / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n";
  const std::string token = "Fencing-Token: billing=5\r\n";
  const std::string piece(64U << 10U, 'a');
  std::string lines;
  while (lines.size() < piece.size()) lines += "A: bbbbbbbbbbbb\r\n";
  for (const auto& [start, unit] :
       {std::pair{"POST" + head + "\r\n1;a=", piece}, std::pair{"GET" + head + "\r\n1;a=", piece},
        std::pair{"POST" + head + "\r\n0\r\nA: ", piece}, std::pair{"POST" + head + token + "\r\n1;a=", piece},
        std::pair{"POST" + head + token + "\r\n0\r\nA: ", piece},
        std::pair{"POST" + head + token + "\r\n0\r\n", lines}}) {
    HttpConnection connection{proxy_->port()};
    ASSERT_TRUE(connection.sendRaw(start));
    std::size_t sent = 0;
    while (sent < flood && connection.sendRaw(unit)) sent += unit.size();
    EXPECT_LT(sent, flood) << "taken whole: " << start;
    expectSmall();
  }
  EXPECT_TRUE(service.bodies().empty());
  EXPECT_EQ(statusOf(post(6)), 200U);
}

TEST_F(ProxyLimits, anEndlessChunkExtensionTrailerOrHeaderOfTheServiceIsCut) {
  std::atomic<std::size_t> sent{0};
  std::string opening;
  RawService service{[&](RawService& self, tcp::socket& socket, const std::string&) {
    const std::string piece(64U << 10U, 'a');
    if (!self.send(socket, opening)) return;
    for (sent = 0; sent < flood && self.send(socket, piece);) sent += piece.size();
  }};
  start(service.port());
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& one : {chunked + "1;a=", chunked + "0\r\nA: ", std::string{"HTTP/1.1 200 OK\r\nA: "}}) {
    opening = one;
    HttpConnection connection{proxy_->port()};
    ASSERT_TRUE(connection.sendRaw("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    (void)connection.read();
    EXPECT_LT(sent.load(), flood) << one;
    expectSmall();
  }
}

/// A request of the old term may not delay the later term for longer than the drain's time.
TEST_F(ProxyLimits, theDrainsTimeEndsWhateverTheServiceStreams) {
  const std::string chunk = "4000\r\n" + std::string(0x4000, 'z') + "\r\n";
  for (const std::string& stream : {chunk, std::string{"HTTP/1.1 102 Processing\r\n\r\n"}}) {
    std::promise<void> streams;
    std::promise<void> ended;
    RawService service{[&](RawService& self, tcp::socket& socket, const std::string& header) {
      if (header.find("billing=5") == std::string::npos) return void(self.send(socket, ok));
      if (stream == chunk) (void)self.send(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      streams.set_value();
      while (self.send(socket, stream)) {
      }
      ended.set_value();
    }};
    std::filesystem::remove(directory_.file("fence.db"));
    start(service.port(), {"--drain-timeout", "300ms"});
    HttpConnection old{proxy_->port()};
    ASSERT_TRUE(old.sendRaw(post(5)));
    streams.get_future().get();
    EXPECT_EQ(statusOf(post(6)), 200U);
    EXPECT_EQ(statusOf(post(6)), 200U);
    EXPECT_EQ(ended.get_future().wait_for(30s), std::future_status::ready) << "the service's connection was closed";
    proxy_.reset();
  }
}

/// The same for a client that reads nothing.
TEST_F(ProxyLimits, aClientThatDoesNotReadHoldsNoLaterTermUp) {
  std::promise<void> streams;
  RawService service{[&](RawService& self, tcp::socket& socket, const std::string& header) {
    if (header.find("billing=5") == std::string::npos) return void(self.send(socket, ok));
    if (!self.send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")) return;
    streams.set_value();
    while (self.send(socket, std::string(64U << 10U, 'z'))) {
    }
  }};
  start(service.port(), {"--drain-timeout", "300ms", "--client-timeout", "1m"});
  HttpConnection old{proxy_->port()};
  ASSERT_TRUE(old.sendRaw(post(5)));
  streams.get_future().get();
  EXPECT_EQ(statusOf(post(6)), 200U);
  expectSmall();
}

TEST_F(ProxyLimits, silentConnectionsKeepNobodyOut) {
  LedgerService service;
  start(service.port(), {"--max-connections", "20", "--client-timeout", "1m"});
  std::list<HttpConnection> silent;
  for (int i = 0; i < 60; ++i) {
    silent.emplace_back(proxy_->port());
    ASSERT_TRUE(silent.back().connect());
    if (i % 2 == 1) {
      ASSERT_TRUE(silent.back().sendRaw("POST / HTTP/1.1\r\nHost:"));
    }
  }
  for (int i = 0; i < 40; ++i) EXPECT_EQ(statusOf(post(5)), 200U) << i;
}

TEST_F(ProxyLimits, whoConnectsAndSaysNothingIsCutInAClientsTime) {
  LedgerService service;
  start(service.port(), {"--client-timeout", "200ms"});
  HttpConnection silent{proxy_->port()};
  ASSERT_TRUE(silent.connect());
  EXPECT_FALSE(silent.read());  // the idle time between requests is a minute
}

/// Nobody waits for a body that is not wanted.
TEST_F(ProxyLimits, whoTricklesABodyThatIsRefusedMakesRoom) {
  LedgerService service;
  start(service.port(), {"--max-connections", "20", "--client-timeout", "1m"});
  std::list<HttpConnection> trickling;
  for (int i = 0; i < 30; ++i) {
    trickling.emplace_back(proxy_->port());
    ASSERT_TRUE(trickling.back().sendRaw("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx"));
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(statusOf(post(5)), 200U) << i;
}

TEST_F(ProxyLimits, aServicesAnswerOfManyFieldsIsNone) {
  std::string fields;
  for (int i = 0; i < 10'000; ++i) fields += "a:\r\n";
  RawService service{[&](RawService& self, tcp::socket& socket, const std::string&) {
    (void)self.send(socket, "HTTP/1.1 200 OK\r\n" + fields + "Content-Length: 0\r\n\r\n");
  }};
  start(service.port());
  EXPECT_EQ(statusOf("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), 502U);
}

/// The request waits for requests that the previous proxy may have left under way.
TEST_F(ProxyLimits, aSecondSignalEndsItWhileARequestWaits) {
  LedgerService service;
  start(service.port());
  EXPECT_EQ(statusOf(post(5)), 200U);
  EXPECT_EQ(proxy_->end(SIGKILL), 128 + SIGKILL);
  start(service.port(), {"--drain-timeout", "1m"});
  HttpConnection waiting{proxy_->port()};
  ASSERT_TRUE(waiting.sendRaw(post(6)));
  EXPECT_EQ(statusOf(post(5)), 409U) << "the later term has arrived";
  proxy_->signal(SIGTERM);
  // The first signal has been handled once no connection is accepted any more.
  while (HttpConnection{proxy_->port()}.connect()) {
  }
  EXPECT_EQ(proxy_->end(SIGHUP), 0) << "nothing has reached the service, and no crash";
}

TEST_F(ProxyLimits, whatItHasToldIsInTheFileItself) {
  LedgerService service;
  start(service.port());
  EXPECT_EQ(statusOf(post(9)), 200U);
  for (const char* beside : {"-wal", "-shm", "-journal"}) std::filesystem::remove(directory_.file("fence.db") + beside);
  EXPECT_EQ(proxy_->end(SIGKILL), 128 + SIGKILL);
  start(service.port());
  EXPECT_EQ(statusOf(post(6)), 409U);
}

TEST_F(ProxyLimits, hangupEndsItAsTerminateDoes) {
  LedgerService service;
  start(service.port());
  EXPECT_EQ(statusOf(post(5)), 200U);
  EXPECT_EQ(proxy_->end(SIGHUP), 0);
}

class SignedRequests : public ProxyLimits {
 protected:
  void startWithKeys(unsigned short service, const std::string& audience, const std::vector<std::string>& more = {}) {
    const std::string keys = directory_.file("keys");
    std::ofstream{keys} << "new bm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm4=\n";
    chmod(keys.c_str(), 0600);
    std::vector<std::string> all{"--keys", keys, "--audience", audience};
    all.insert(all.end(), more.begin(), more.end());
    start(service, all);
  }
  [[nodiscard]] std::string head(const std::string& body, const std::string& more,
                                 const std::string& method = "PUT") const {
    std::string out = method + " /config HTTP/1.1\r\nHost: h\r\n";
    for (const auto& [name, value] :
         fenceHeaders({"billing", FencingToken{5}, "a#1"}, method, "/config", body, &signer_)) {
      out += name + ": " + value + "\r\n";
    }
    return out + more;
  }
  const FenceSigner signer_{{"new", std::string(32, 'n')}, "config"};
};

TEST_F(SignedRequests, oneThatIsSentAgainWithoutItsBodyIsRefused) {
  LedgerService service;
  startWithKeys(service.port(), "config");
  const std::string body = "{\"amount\":100}";
  EXPECT_EQ(statusOf(head(body, "Content-Length: 14\r\n\r\n" + body)), 200U);
  for (const std::string rest : {"Content-Length: 14\r\n\r\n{\"amount\":999}", "Content-Length: 0\r\n\r\n", "\r\n",
                                 "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}) {
    EXPECT_EQ(statusOf(head(body, rest)), 403U) << rest;
  }
  EXPECT_EQ(statusOf(head(body, "Connection: Content-Digest\r\nContent-Length: 14\r\n\r\n" + body)), 400U);
  EXPECT_EQ(service.requests().size(), 1U);
}

TEST_F(SignedRequests, oneThatWasSignedForAnotherServiceIsRefused) {
  LedgerService service;
  startWithKeys(service.port(), "ledger");
  EXPECT_EQ(statusOf(head("", "\r\n")), 403U);
  EXPECT_TRUE(service.requests().empty());
}

/// The same signed header on as many connections as are allowed. Anybody who has seen one request can send it.
TEST_F(SignedRequests, replayedHeadersGetNoMemoryForTheirBodies) {
  LedgerService service;
  startWithKeys(service.port(), "config", {"--client-timeout", "1m"});
  std::list<HttpConnection> open;
  const std::string half(mebibyte - 10, 'x');
  const std::string bytes = head(half, "Content-Length: " + std::to_string(mebibyte) + "\r\n\r\n" + half);
  for (int i = 0; i < 100; ++i) {
    open.emplace_back(proxy_->port());
    (void)open.back().sendRaw(bytes);
  }
  expectSmall();
  EXPECT_EQ(statusOf(head("", "\r\n")), 200U);
}

/// Such bodies keep their memory until the time-out.
TEST_F(SignedRequests, stalledBodiesOfOneClientKeepNoOtherOut) {
  LedgerService service;
  startWithKeys(service.port(), "config");
  std::list<HttpConnection> stalled;
  const std::string body(mebibyte - 10, 'x');
  for (int i = 0; i < 12; ++i) {
    stalled.emplace_back(proxy_->port());
    (void)stalled.back().sendRaw(head(body, "Content-Length: " + std::to_string(mebibyte) + "\r\n\r\n" + body));
  }
  HttpConnection other{proxy_->port(), "127.0.0.2"};
  (void)other.sendRaw(head(body, "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
  const auto answer = other.read();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->result_int(), 200U);
}

/// To send it again is no use, however much memory there is.
TEST_F(SignedRequests, aBodyBeyondTheLimitIsTooLargeAndNotOneOfTooMany) {
  LedgerService service;
  const std::size_t limit = 4 * mebibyte;  // a client's whole share
  startWithKeys(service.port(), "config", {"--signed-body-limit", std::to_string(limit)});
  const auto sent = [&](std::size_t size) {
    const std::string body(size, 'x');
    return statusOf(head(body, "Content-Length: " + std::to_string(size) + "\r\n\r\n" + body));
  };
  EXPECT_EQ(sent(limit), 200U);
  EXPECT_EQ(sent(limit + 1), 413U);
}

TEST_F(SignedRequests, aBodyThatIsNotInChunksIsToldAndNotForwarded) {
  LedgerService service;
  startWithKeys(service.port(), "config");
  EXPECT_EQ(statusOf(head("xy", "Transfer-Encoding: chunked\r\n\r\nzz\r\nxy\r\n0\r\n\r\n")), 400U);
  EXPECT_TRUE(service.bodies().empty());
}

/// A service that leaves bodies of these methods unread takes what comes behind the header for the next request.
TEST_F(SignedRequests, anEmptyBodyInChunksIsForwardedAsNone) {
  std::mutex mutex;
  std::vector<std::string> requests;  // guarded by mutex
  RawService service{[&](RawService& self, tcp::socket& socket, const std::string& received) {
    boost::system::error_code ended;
    for (std::string unread = received; !ended;) {
      const std::size_t end = unread.find("\r\n\r\n") + 4;
      {
        const std::lock_guard lock{mutex};
        requests.push_back(unread.substr(0, end));
      }
      unread.erase(0, end);
      if (!self.send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) return;
      boost::asio::read_until(socket, boost::asio::dynamic_buffer(unread), "\r\n\r\n", ended);
    }
  }};
  startWithKeys(service.port(), "config");
  for (const std::string method : {"DELETE", "GET", "DELETE"}) {
    EXPECT_EQ(statusOf(head("", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", method)), 200U);
    const std::lock_guard lock{mutex};
    EXPECT_TRUE(requests.back().starts_with(method)) << requests.back();
  }
  const std::lock_guard lock{mutex};
  EXPECT_EQ(requests.size(), 3U);
}

/// A client that has seen a request of a former term cannot use up memory that the present term needs.
TEST_F(SignedRequests, theBodyOfATermThatIsOverIsNotRead) {
  LedgerService service;
  startWithKeys(service.port(), "config");
  const auto later = fenceHeaders({"billing", FencingToken{7}, "b#1"}, "PUT", "/config", "", &signer_);
  HttpConnection leader{proxy_->port()};
  ASSERT_EQ(leader.send({"PUT", "/config", ""}, later)->status, 200);
  HttpConnection former{proxy_->port()};
  ASSERT_TRUE(former.sendRaw(head("long", "Expect: 100-continue\r\nContent-Length: 1048576\r\n\r\n")));
  EXPECT_EQ(former.read()->result_int(), 409U);
}

}  // namespace
}  // namespace tenure
