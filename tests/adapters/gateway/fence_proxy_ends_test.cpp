// How requests end under `tenure fence proxy`: clients that disconnect, services that leave bodies unread, cuts, stops,
// and what the next proxy learns of this.
#include <atomic>
#include <csignal>
#include <fstream>
#include <future>
#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/read.hpp>
#include <gtest/gtest.h>

#include "adapters/gateway/http_connection.hpp"
#include "adapters/gateway/proxy_process.hpp"
#include "adapters/gateway/raw_service.hpp"
#include "adapters/test_database.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using test::HttpConnection;
using test::ProxyProcess;
using test::RawService;

constexpr const char* streamHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr const char* okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string write(int token, const std::string& body = "x") {
  return "POST / HTTP/1.1\r\nHost: x\r\nFencing-Token: billing=" + std::to_string(token) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class FenceProxyEnds : public testing::Test {
 protected:
  ProxyProcess& start(RawService& service, const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{"--lease", "billing", "--memory", memory_};
    all.insert(all.end(), more.begin(), more.end());
    proxy_.emplace(service.port(), all);
    return *proxy_;
  }
  /// Reads the memory's database, which the proxy may be writing at that moment.
  [[nodiscard]] std::int64_t stored(const std::string& sql) const {
    const test::TestDatabase memory{memory_};
    (void)memory.number("PRAGMA busy_timeout = 10000");
    return memory.number(sql);
  }
  [[nodiscard]] bool isCleanInMemory() const { return stored("SELECT clean FROM tenure_fence_state") == 1; }
  const test::TempDir directory_;
  const std::string memory_ = directory_.file("fence.db");
  std::optional<ProxyProcess> proxy_{};
};

/// Streams until the other side has gone, and then sets `gone`.
RawService::Answer streamUntilGone(std::promise<void>& gone) {
  return [&gone](RawService&, tcp::socket& socket, const std::string&) {
    if (!RawService::send(socket, streamHead)) return gone.set_value();
    while (RawService::send(socket, "1\r\nx\r\n")) {
    }
    gone.set_value();
  };
}

TEST_F(FenceProxyEnds, aReadWhoseClientHasGoneIsNotReadOn) {
  std::promise<void> gone;
  RawService service{streamUntilGone(gone)};
  start(service);
  HttpConnection client{proxy_->port()};
  ASSERT_TRUE(client.sendRaw("GET /events HTTP/1.1\r\nHost: x\r\n\r\n"));
  char byte = 0;
  ASSERT_EQ(boost::asio::read(client.socket(), boost::asio::buffer(&byte, 1)), 1U);
  client.close();
  EXPECT_EQ(gone.get_future().wait_for(30s), std::future_status::ready);
}

TEST_F(FenceProxyEnds, aReadWhoseClientGoesBeforeTheAnswerEndsInTheTimeOfAClient) {
  std::promise<void> gone;
  RawService service{[&](RawService&, tcp::socket& socket, const std::string&) {
    char byte = 0;
    boost::system::error_code ended;
    (void)boost::asio::read(socket, boost::asio::buffer(&byte, 1), ended);
    gone.set_value();
  }};
  start(service, {"--client-timeout", "300ms", "--service-timeout", "1h"});
  HttpConnection client{proxy_->port()};
  ASSERT_TRUE(client.sendRaw("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"));
  client.close();
  EXPECT_EQ(gone.get_future().wait_for(30s), std::future_status::ready);
}

TEST_F(FenceProxyEnds, whoHasSaidAllAndListensIsAnswered) {
  RawService service{
      [](RawService&, tcp::socket& socket, const std::string&) { (void)RawService::send(socket, okAnswer); }};
  start(service);
  HttpConnection client{proxy_->port()};
  ASSERT_TRUE(client.sendRaw("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  client.socket().shutdown(tcp::socket::shutdown_send);
  const auto answer = client.read();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->result_int(), 200U);
}

/// A server that leaves a body unread takes that body for its next request. So no other client's request may follow it.
TEST_F(FenceProxyEnds, aConnectionOnWhichABodyMayBeLeftIsNotUsedAgain) {
  std::mutex mutex;
  std::vector<std::string> headers;
  RawService service{[&](RawService&, tcp::socket& socket, const std::string& header) {
    {
      const std::lock_guard lock{mutex};
      headers.push_back(header);
    }
    (void)RawService::send(socket, okAnswer);
  }};
  start(service);
  HttpConnection attacker{proxy_->port()};
  const std::string hidden = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const std::string method : {"GET", "DELETE", "REPORT"}) {
    ASSERT_TRUE(attacker.sendRaw(method + " /a HTTP/1.1\r\nHost: x\r\nFencing-Token: billing=1\r\nContent-Length: " +
                                 std::to_string(hidden.size()) + "\r\n\r\n" + hidden));
    ASSERT_TRUE(attacker.read()) << method;
  }
  const std::lock_guard lock{mutex};
  ASSERT_EQ(headers.size(), 3U);
  for (const std::string& header : headers) EXPECT_TRUE(contains(header, "Connection: close\r\n")) << header;
}

TEST_F(FenceProxyEnds, aRequestOfHttp10WithoutHostGetsOne) {
  std::promise<std::string> seen;
  RawService service{[&](RawService&, tcp::socket& socket, const std::string& header) {
    seen.set_value(header);
    (void)RawService::send(socket, okAnswer);
  }};
  start(service);
  HttpConnection client{proxy_->port()};
  ASSERT_TRUE(client.sendRaw("OPTIONS / HTTP/1.0\r\n\r\n"));
  ASSERT_TRUE(client.read());
  const std::string header = seen.get_future().get();
  EXPECT_TRUE(contains(header, "Host: 127.0.0.1:" + std::to_string(service.port()) + "\r\n")) << header;
}

/// What the proxy had sent and the service had not read yet must not be delivered after the cut.
TEST_F(FenceProxyEnds, aCutIsAReset) {
  std::promise<void> reads;
  std::promise<boost::system::error_code> end;
  RawService service{[&](RawService&, tcp::socket& socket, const std::string& header) {
    if (!contains(header, "billing=1")) return (void)RawService::send(socket, okAnswer);
    boost::system::error_code ended;
    std::array<char, 4096> piece;
    reads.set_value();
    while (!ended) (void)socket.read_some(boost::asio::buffer(piece), ended);
    end.set_value(ended);
  }};
  start(service, {"--drain-timeout", "200ms", "--service-timeout", "1h"});
  HttpConnection older{proxy_->port()};
  ASSERT_TRUE(older.sendRaw(write(1)));
  reads.get_future().wait();
  HttpConnection newer{proxy_->port()};
  ASSERT_TRUE(newer.sendRaw(write(2)));
  EXPECT_EQ(newer.read()->result_int(), 200U);
  EXPECT_EQ(end.get_future().get(), boost::asio::error::connection_reset);
}

/// The kernel closes the sockets of a killed process. Without the reset it would go on sending what it still has.
TEST_F(FenceProxyEnds, aKillIsAResetToo) {
  std::promise<void> reads;
  std::promise<boost::system::error_code> end;
  RawService service{[&](RawService&, tcp::socket& socket, const std::string&) {
    boost::system::error_code ended;
    std::array<char, 4096> piece;
    reads.set_value();
    while (!ended) (void)socket.read_some(boost::asio::buffer(piece), ended);
    end.set_value(ended);
  }};
  start(service);
  HttpConnection client{proxy_->port()};
  ASSERT_TRUE(client.sendRaw(write(1)));
  reads.get_future().wait();
  (void)proxy_->end(SIGKILL);
  EXPECT_EQ(end.get_future().get(), boost::asio::error::connection_reset);
}

TEST_F(FenceProxyEnds, aConnectionThatIsKeptIsClosedAndNotReset) {
  std::promise<boost::system::error_code> end;
  RawService service{[&](RawService&, tcp::socket& socket, const std::string&) {
    boost::system::error_code ended;
    std::array<char, 4096> piece;
    (void)RawService::send(socket, okAnswer);
    while (!ended) (void)socket.read_some(boost::asio::buffer(piece), ended);
    end.set_value(ended);
  }};
  start(service);
  HttpConnection client{proxy_->port()};
  ASSERT_TRUE(client.sendRaw(write(1)));
  ASSERT_TRUE(client.read());
  EXPECT_EQ(proxy_->end(SIGTERM), 0);
  EXPECT_EQ(end.get_future().get(), boost::asio::error::eof);
}

/// The proxy is killed when the later term is on the disk and the earlier request has not ended.
TEST_F(FenceProxyEnds, theNextProxyLetsATermWaitThatWasSeenAndHadNotPassed) {
  std::mutex mutex;
  std::vector<std::string> events;
  const auto note = [&](const std::string& event) {
    const std::lock_guard lock{mutex};
    events.push_back(event);
  };
  std::promise<void> begun;
  RawService service{[&](RawService&, tcp::socket& socket, const std::string& header) {
    if (contains(header, "billing=1")) {
      note("1 begins");
      begun.set_value();
      std::this_thread::sleep_for(2s);  // lint-allow(sleep): what the service needs, whatever becomes of the proxy
      return note("1 ends");
    }
    note("2 begins");
    (void)RawService::send(socket, okAnswer);
  }};
  start(service, {"--drain-timeout", "3s"});
  HttpConnection older{proxy_->port()};
  ASSERT_TRUE(older.sendRaw(write(1)));
  begun.get_future().wait();
  HttpConnection newer{proxy_->port()};
  ASSERT_TRUE(newer.sendRaw(write(2)));
  while (stored("SELECT token FROM tenure_fence_guard") != 2) {
  }
  (void)proxy_->end(SIGKILL);
  start(service, {"--drain-timeout", "3s"});
  HttpConnection again{proxy_->port()};
  ASSERT_TRUE(again.sendRaw(write(2)));
  EXPECT_EQ(again.read()->result_int(), 200U);
  const std::lock_guard lock{mutex};
  EXPECT_EQ(events, (std::vector<std::string>{"1 begins", "1 ends", "2 begins"}));
}

TEST_F(FenceProxyEnds, aStreamThatNeedsNoTokenMakesNoStopUnclean) {
  std::promise<void> gone;
  RawService service{streamUntilGone(gone)};
  start(service, {"--drain-timeout", "200ms", "--service-timeout", "1h"});
  HttpConnection client{proxy_->port()};
  ASSERT_TRUE(client.sendRaw("GET /events HTTP/1.1\r\nHost: x\r\n\r\n"));
  char byte = 0;
  ASSERT_EQ(boost::asio::read(client.socket(), boost::asio::buffer(&byte, 1)), 1U);
  std::thread reader{[&] {
    std::array<char, 4096> piece;
    boost::system::error_code ended;
    while (!ended) (void)client.socket().read_some(boost::asio::buffer(piece), ended);
  }};
  EXPECT_EQ(proxy_->end(SIGTERM), 0);
  reader.join();
  EXPECT_TRUE(isCleanInMemory());
}

TEST_F(FenceProxyEnds, aStopBeforeTheWaitAfterACrashIsOverIsNotClean) {
  RawService service{
      [](RawService&, tcp::socket& socket, const std::string&) { (void)RawService::send(socket, okAnswer); }};
  start(service);
  HttpConnection client{proxy_->port()};
  ASSERT_TRUE(client.sendRaw(write(1)));
  ASSERT_TRUE(client.read());
  (void)proxy_->end(SIGKILL);
  start(service, {"--drain-timeout", "1h"});
  EXPECT_EQ(proxy_->end(SIGTERM), 0);
  EXPECT_FALSE(isCleanInMemory()) << "what the killed one had passed may be under way still";
}

TEST_F(FenceProxyEnds, aStartThatFailsLeavesACleanMemoryClean) {
  RawService service{
      [](RawService&, tcp::socket& socket, const std::string&) { (void)RawService::send(socket, okAnswer); }};
  start(service);
  EXPECT_EQ(proxy_->end(SIGTERM), 0);
  ASSERT_TRUE(isCleanInMemory());
  const std::string taken = "127.0.0.1:" + std::to_string(service.port());
  const std::string command = std::string{TENURE_PROGRAM} + " fence proxy --listen " + taken + " --upstream http://" +
                              taken + " --lease billing --memory " + memory_ + " 2>/dev/null";
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_TRUE(isCleanInMemory());
}

}  // namespace
}  // namespace tenure
