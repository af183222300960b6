// The table "Which requests are forwarded" of docs/fencing/http.md, row by row, judged by what the service received.
#include <gtest/gtest.h>

#include "adapters/gateway/http_connection.hpp"
#include "adapters/gateway/ledger_service.hpp"
#include "adapters/gateway/proxy_process.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using test::HttpConnection;
using test::LedgerService;
using test::ProxyProcess;

/// One proxy for all rows: a refused request must not affect those that follow.
class ProxyRules : public testing::Test {
 protected:
  /// The status of the answer; 0: the connection ended without one.
  [[nodiscard]] unsigned statusOf(const std::string& bytes) const {
    HttpConnection connection{proxy_.port()};
    (void)connection.sendRaw(bytes);
    const auto response = connection.read(bytes.starts_with("HEAD"));
    return response ? response->result_int() : 0;
  }
  void expectRefused(unsigned status, const std::string& bytes) const {
    const std::size_t before = service_.requests().size();
    EXPECT_EQ(statusOf(bytes), status) << bytes;
    EXPECT_EQ(service_.requests().size(), before) << "the service has seen it: " << bytes;
  }
  /// The request as the service received it.
  [[nodiscard]] LedgerService::Request forwarded(const std::string& bytes) const {
    const std::size_t before = service_.requests().size();
    EXPECT_EQ(statusOf(bytes), 200U) << bytes;
    const auto all = service_.requests();
    EXPECT_EQ(all.size(), before + 1) << bytes;
    return all.size() > before ? all.back() : LedgerService::Request{};
  }
  /// A write with a token and these additional lines.
  [[nodiscard]] static std::string post(const std::string& lines, const std::string& rest = "\r\nx") {
    return "POST /x HTTP/1.1\r\nHost: h\r\nFencing-Token: billing=5\r\n" + lines + rest;
  }

  LedgerService service_{};
  const test::TempDir directory_;
  ProxyProcess proxy_{service_.port(), {"--lease", "billing", "--memory", directory_.file("fence.db")}};
};

constexpr const char* oneByte = "Content-Length: 1\r\n";

TEST_F(ProxyRules, aBodyMakesAWriteWhateverTheMethod) {
  for (const std::string method : {"GET", "HEAD", "OPTIONS"}) {
    expectRefused(428, method + " /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx");
    expectRefused(428, method + " /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n");
  }
  EXPECT_EQ(forwarded("GET /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n").body(), "");
  EXPECT_EQ(forwarded("GET /x HTTP/1.1\r\nHost: h\r\nFencing-Token: billing=5\r\nContent-Length: 1\r\n\r\nx").body(),
            "x");
}

TEST_F(ProxyRules, versions) {
  expectRefused(400, "GET /x HTTP/1.2\r\nHost: h\r\n\r\n");
  expectRefused(400, "GET /x HTTP/2.0\r\nHost: h\r\n\r\n");
  expectRefused(400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  (void)forwarded("GET /x HTTP/1.0\r\n\r\n");
}

TEST_F(ProxyRules, tunnelsAndUpgrades) {
  expectRefused(501, "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n");
  expectRefused(501, "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  expectRefused(501, "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c, websocket\r\n\r\n");
  expectRefused(501, "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n");
  const auto offered = forwarded(
      "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: "
      "AAMAAABk\r\n"
      "\r\n");
  EXPECT_EQ(offered.count("Upgrade") + offered.count("HTTP2-Settings") + offered.count("Connection"), 0U);
}

TEST_F(ProxyRules, aWebSocketIsRefusedByItsName) {
  HttpConnection connection{proxy_.port()};
  ASSERT_TRUE(connection.sendRaw("GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"));
  EXPECT_NE(connection.read()->body().find("WebSockets are not forwarded"), std::string::npos);
}

TEST_F(ProxyRules, connectionNamesNothingThatTheServiceReliesOn) {
  for (const std::string name : {"Authorization", "Content-Digest", "X-Forwarded-For", "Content-Length", "Host",
                                 "Fencing-Token", "close, authorization"}) {
    expectRefused(400, post("Authorization: Basic Zm9v\r\nConnection: " + name + "\r\n" + oneByte));
  }
  const auto request =
      forwarded(post("TE: trailers\r\nKeep-Alive: 5\r\nConnection: keep-alive, TE\r\n" + std::string{oneByte}));
  EXPECT_EQ(request.count("TE") + request.count("Keep-Alive") + request.count("Connection"), 0U);
}

TEST_F(ProxyRules, oneHostThatIsTheTargets) {
  const std::string token = "Fencing-Token: billing=5\r\nContent-Length: 1\r\n\r\nx";
  expectRefused(400, "POST /x HTTP/1.1\r\n" + token);
  expectRefused(400, "POST /x HTTP/1.1\r\nHost: h\r\nHost: h\r\n" + token);
  expectRefused(400, "POST /x HTTP/1.1\r\nHost: a, b\r\n" + token);
  expectRefused(400, "POST /x HTTP/1.1\r\nHost: a/b\r\n" + token);
  expectRefused(400, "POST http://other/x HTTP/1.1\r\nHost: h\r\n" + token);
  expectRefused(400, "POST http://h@h/x HTTP/1.1\r\nHost: h@h\r\n" + token);
  expectRefused(400, "POST https://h/x HTTP/1.1\r\nHost: h\r\n" + token);
  expectRefused(400, "POST x HTTP/1.1\r\nHost: h\r\n" + token);
  expectRefused(400, "POST * HTTP/1.1\r\nHost: h\r\n" + token);
  EXPECT_EQ(forwarded("POST http://H/x?y HTTP/1.1\r\nHost: h\r\n" + token).target(), "/x?y");
  EXPECT_EQ(forwarded("POST http://h HTTP/1.1\r\nHost: h\r\n" + token).target(), "/");
  EXPECT_EQ(forwarded("POST http://h?y HTTP/1.1\r\nHost: h\r\n" + token).target(), "/?y");
  for (const std::string target : {"/a#b", "/a\xff", "http:///a", "http://?x"}) {
    expectRefused(400, "POST " + target + " HTTP/1.0\r\n" + token);
  }
}

TEST_F(ProxyRules, transferCodings) {
  const std::string chunks = "\r\n1\r\nx\r\n0\r\n\r\n";
  for (const std::string coding : {"gzip", "gzip, chunked", "chunked, chunked", "identity", "chunked,", ""}) {
    expectRefused(501, post("Transfer-Encoding: " + coding + "\r\n", chunks));
  }
  expectRefused(400, post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", chunks));
  expectRefused(400, "POST /x HTTP/1.0\r\nFencing-Token: billing=5\r\nTransfer-Encoding: chunked\r\n" + chunks);
  expectRefused(400, post("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", chunks));
  expectRefused(400, post("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", chunks));
  EXPECT_EQ(forwarded(post("Transfer-Encoding: CHUNKED\r\n", chunks)).body(), "x");
}

TEST_F(ProxyRules, lengths) {
  for (const std::string length : {"1, 1", "1,1", "+1", "-1", "0x1", "1x", "1 1", "", "99999999999999999999999"}) {
    expectRefused(400, post("Content-Length: " + length + "\r\n"));
  }
  expectRefused(400, post("Content-Length: 1\r\nContent-Length: 1\r\n"));
  expectRefused(400, post("Content-Length: 1\r\nContent-Length: 2\r\n"));
  expectRefused(400, post("Content-Length: 01\r\n"));
}

TEST_F(ProxyRules, expectations) {
  expectRefused(417, post("Expect: 200-ok\r\n" + std::string{oneByte}));
  EXPECT_EQ(forwarded("POST /x HTTP/1.0\r\nFencing-Token: billing=5\r\nExpect: 100-continue\r\nContent-Length: "
                      "1\r\n\r\nx")
                .body(),
            "x");
}

/// The first line would be the interim answer, which HTTP/1.0 does not know.
TEST_F(ProxyRules, aClientOfHttp10GetsNoInterimAnswer) {
  HttpConnection connection{proxy_.port()};
  ASSERT_TRUE(connection.sendRaw(
      "POST /x HTTP/1.0\r\nFencing-Token: billing=5\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
  std::this_thread::sleep_for(std::chrono::milliseconds{50});  // lint-allow(sleep): what must not come is no event
  ASSERT_TRUE(connection.sendRaw("x"));
  EXPECT_EQ(connection.read()->result_int(), 200U);
}

TEST_F(ProxyRules, linesAndNames) {
  for (const std::string bytes :
       {"POST /x HTTP/1.1\nHost: h\nFencing-Token: billing=5\nContent-Length: 1\n\nx",
        "POST /x HTTP/1.1\r\nHost: h\r\nA: b\nFencing-Token: billing=5\r\nContent-Length: 1\r\n\r\nx",
        "POST /x HTTP/1.1\r\nHost: h\r\nA: b\rFencing-Token: billing=5\r\nContent-Length: 1\r\n\r\nx",
        "POST /x HTTP/1.1\r\nHost: h\r\nFencing-Token : billing=5\r\nContent-Length: 1\r\n\r\nx",
        "POST /x HTTP/1.1\r\nHost: h\r\nA: \x01\r\nFencing-Token: billing=5\r\nContent-Length: 1\r\n\r\nx"}) {
    expectRefused(400, bytes);
  }
}

}  // namespace
}  // namespace tenure
