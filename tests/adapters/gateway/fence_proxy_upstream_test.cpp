// Services that answer as none should. The client is told, the wrong bytes reach nobody else, and the request is no
// longer under way, so that a later term can continue.
#include <atomic>
#include <fcntl.h>
#include <future>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "adapters/gateway/faulty_service.hpp"
#include "adapters/gateway/http_connection.hpp"
#include "adapters/gateway/proxy_process.hpp"
#include "adapters/gateway/raw_service.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::string_literals;
using test::Fault;
using test::FaultyService;
using test::flood;
using test::HttpConnection;
using test::postOf;
using test::ProxyProcess;
using test::Then;

class UpstreamFaults : public testing::TestWithParam<Fault> {
 protected:
  /// The status of a request that the service answers correctly; 0: the connection ends without an answer.
  static unsigned statusOf(HttpConnection& connection, int token) {
    if (!connection.sendRaw(postOf("/next", token))) return 0;
    const auto answer = connection.read();
    if (answer && answer->result_int() == 200) {
      EXPECT_EQ(answer->body(), "ok");
    }
    return answer ? answer->result_int() : 0;
  }

  const test::TempDir directory_;
  FaultyService service_{GetParam()};
};

class FaultsOfOneRequest : public UpstreamFaults {
 protected:
  ProxyProcess proxy_{service_.port(),
                      {"--lease", "billing", "--memory", directory_.file("fence.db"), "--service-timeout", "1500ms",
                       "--drain-timeout", "1m"}};
};

TEST_P(FaultsOfOneRequest, areOfItAlone) {
  const Fault& fault = GetParam();
  HttpConnection client{proxy_.port()};
  const bool isSent = client.sendRaw(fault.request);
  ASSERT_TRUE(isSent || fault.then == Then::early);
  const auto answer = client.read(fault.request.starts_with("HEAD"));
  ASSERT_EQ(answer ? answer->result_int() : 0, fault.status);
  if (fault.status == 200) {
    EXPECT_EQ(answer->body(), fault.body);
    EXPECT_EQ(answer->count("Transfer-Encoding") + answer->count("Content-Length"), 1U);
  }
  EXPECT_LT(service_.taken(), flood) << "taken whole";
  const unsigned same = statusOf(client, 5);
  EXPECT_TRUE(same == 200 || same == 0) << same << ": its connection may have ended, but gets no other answer";
  HttpConnection other{proxy_.port()};
  EXPECT_EQ(statusOf(other, 5), 200U);
  HttpConnection later{proxy_.port()};
  EXPECT_EQ(statusOf(later, 6), 200U) << "within the drain's minute";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep memory of their own beside it
  EXPECT_LT(proxy_.resident(), 64U << 20U);
#endif
}

const std::string head = "HTTP/1.1 200 OK\r\n";
const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
const std::string half = head + "Content-Length: 9\r\n\r\nhalf";
const std::string ok = FaultyService::ok;
const std::string stray = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON";
const std::string tooLarge = "HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\n\r\n";
const std::string piece(64U << 10U, 'a');

std::string many(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// clang-format off
const std::vector<Fault> faults{
    {"SaysNothing", "", Then::stalls, 504},
    {"ClosesWithoutAWord", ""},
    {"ResetsWithoutAWord", "", Then::resets},
    {"StallsInTheHeader", head + "Conte", Then::stalls, 504},
    {"ClosesInTheHeader", head + "Conte"},
    {"ResetsInTheHeader", head + "Conte", Then::resets},
    {"StallsInTheBody", half, Then::stalls, 0},
    {"ClosesInTheBody", half, Then::closes, 0},
    {"ResetsInTheBody", half, Then::resets, 0},
    {"ClosesBeforeTheLastChunk", chunked + "2\r\nok\r\n", Then::closes, 0},
    {"ClosesInTheTrailer", chunked + "2\r\nok\r\n0\r\nA: b", Then::closes, 0},
    {"EndlessHeader", head + "A: ", Then::repeats, 502, "", piece},
    {"EndlessFields", head, Then::repeats, 502, "", many("A: b\r\n", 10'000)},
    {"EndlessChunkExtension", chunked + "1;a=", Then::repeats, 502, "", piece},
    {"EndlessTrailer", chunked + "0\r\nA: ", Then::repeats, 502, "", piece},
    {"EndlessTrailers", chunked + "0\r\n", Then::repeats, 502, "", many("A: bbbbbbbb\r\n", 5'000)},
    {"LongerThanItsLength", head + "Content-Length: 2\r\n\r\nok and more", Then::keeps, 200, "ok"},
    {"MoreAfterTheLastChunk", chunked + "2\r\nok\r\n0\r\n\r\nmore", Then::keeps, 200, "ok"},
    {"BothFramings", head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", Then::keeps},
    {"BothFramingsTurned", head + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n", Then::keeps},
    {"TwoLengths", head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nokx", Then::keeps},
    {"LengthThatIsNoNumber", head + "Content-Length: two\r\n\r\nok", Then::keeps},
    {"CodingThatIsNotKnown", head + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", Then::keeps},
    {"CodingThatIsNoChunks", head + "Transfer-Encoding: gzip\r\n\r\nok"},
    {"CodingTwice", head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n2\r\nok\r\n0\r\n\r\n", Then::keeps},
    {"ChunkThatHasNoSize", chunked + "zz\r\nok\r\n0\r\n\r\n", Then::keeps},
    {"InterimAnswersBefore", many("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n", 10'000) + ok, Then::keeps, 200, "ok"},
    {"InterimAnswersOnly", many("HTTP/1.1 102 Processing\r\n\r\n", 10'000), Then::stalls, 504},
    {"SwitchesProtocols", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", Then::keeps},
    {"BodyToHead", ok, Then::keeps, 200, "", "", "HEAD /fault HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"BodyWith204", "HTTP/1.1 204 No Content\r\nContent-Length: 6\r\n\r\nPOISON", Then::keeps, 204},
    {"BodyWith304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\nPOISON", Then::keeps, 304},
    {"Garbage", "\0\1\2\3\r\n\r\n"s},
    {"AnotherProtocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n"},
    {"StatusThatIsNoNumber", "HTTP/1.1 2x0 OK\r\nContent-Length: 2\r\n\r\nok", Then::keeps},
    {"VersionThatIsNone", "HTTP/1.x 200 OK\r\nContent-Length: 2\r\n\r\nok", Then::keeps},
    {"BareLineFeeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", Then::keeps},
    {"BareLineFeedInAField", head + "A: b\nB: c\r\nContent-Length: 2\r\n\r\nok", Then::keeps},
    {"NulInAField", head + "A: b\0c\r\nContent-Length: 2\r\n\r\nok"s, Then::keeps},
    {"TwoAnswers", ok + stray, Then::keeps, 200, "ok"},
    {"TwoAnswersToARead", ok + stray, Then::keeps, 200, "ok", "", "GET /fault HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"ManyAnswers", ok + many(stray, 10'000), Then::keeps, 200, "ok"},
    {"DripsItsHeader", head, Then::drips, 504, "", "A: " + std::string(40, 'b')},
    {"DripsItsBody", head + "Content-Length: 20\r\n\r\n", Then::drips, 200, std::string(20, 'b'), std::string(20, 'b')},
    {"AnswersBeforeTheBody", tooLarge, Then::early, 413, "", "", postOf("/fault", 5, std::string(8U << 20U, 'b'))},
};
// clang-format on

std::string nameOf(const testing::TestParamInfo<Fault>& of) { return of.param.name; }

INSTANTIATE_TEST_SUITE_P(Review, FaultsOfOneRequest, testing::ValuesIn(faults), nameOf);

/// The service's own time-out is too long to help: the drain's time-out must end the request.
class FaultsAcrossTerms : public UpstreamFaults {
 protected:
  ProxyProcess proxy_{service_.port(),
                      {"--lease", "billing", "--memory", directory_.file("fence.db"), "--service-timeout", "1m",
                       "--drain-timeout", "300ms"}};
};

TEST_P(FaultsAcrossTerms, endWithTheDrain) {
  HttpConnection former{proxy_.port()};
  ASSERT_TRUE(former.sendRaw(GetParam().request));
  service_.waitForFault();
  HttpConnection later{proxy_.port()};
  EXPECT_EQ(statusOf(later, 6), 200U);
  const auto answer = former.read();
  EXPECT_NE(answer ? answer->result_int() : 0, 200U) << "it did not end well";
  EXPECT_EQ(statusOf(later, 6), 200U);
}

const std::vector<Fault> endless{
    {"SaysNothing", "", Then::stalls},
    {"StallsInTheHeader", head + "Conte", Then::stalls},
    {"StallsInTheBody", half, Then::stalls},
    {"StreamsABody", chunked, Then::repeats, 0, "", "4000\r\n" + std::string(0x4000, 'z') + "\r\n"},
    {"StreamsInterimAnswers", "", Then::repeats, 0, "", many("HTTP/1.1 102 Processing\r\n\r\n", 100)},
    {"DripsItsHeader", head + "A: ", Then::drips, 0, "", std::string(1'000, 'b')},
    {"DripsItsBody", head + "Content-Length: 1000\r\n\r\n", Then::drips, 0, "", std::string(1'000, 'b')},
};

INSTANTIATE_TEST_SUITE_P(Review, FaultsAcrossTerms, testing::ValuesIn(endless), nameOf);

/// The service speaks between the head of a request and its body, where a client may take its time.
TEST(UpstreamThatSpeaksUnasked, isNotHeardByTheNextRequest) {
  std::promise<void> waits;
  std::promise<void> spoken;
  std::atomic<int> connections{0};
  test::RawService service{[&](test::RawService& self, boost::asio::ip::tcp::socket& socket, const std::string&) {
    (void)self.send(socket, ok);
    if (++connections > 1) return;
    waits.get_future().wait();
    (void)self.send(socket, stray);
    spoken.set_value();
    boost::system::error_code ended;
    std::string rest;
    boost::asio::read(socket, boost::asio::dynamic_buffer(rest), ended);
  }};
  const test::TempDir directory;
  const ProxyProcess proxy{service.port(), {"--lease", "billing", "--memory", directory.file("fence.db")}};
  HttpConnection first{proxy.port()};
  ASSERT_TRUE(first.sendRaw(postOf("/", 5)));
  ASSERT_EQ(first.read()->body(), "ok");
  HttpConnection next{proxy.port()};
  ASSERT_TRUE(
      next.sendRaw("POST / HTTP/1.1\r\nHost: h\r\nFencing-Token: billing=5\r\nExpect: 100-continue\r\n"
                   "Content-Length: 1\r\n\r\n"));
  ASSERT_EQ(next.read()->result_int(), 100U) << "it has been admitted";
  HttpConnection other{proxy.port()};  // its answer comes when the proxy can do no more for the request before it
  ASSERT_TRUE(other.sendRaw("POST / HTTP/1.1\r\nHost: h\r\n\r\n"));
  ASSERT_EQ(other.read()->result_int(), 428U);
  waits.set_value();
  spoken.get_future().wait();
  ASSERT_TRUE(next.sendRaw("x"));
  EXPECT_EQ(next.read()->body(), "ok");
}

TEST(UpstreamThatKeepsItsConnection, isAskedOnItAgain) {
  constexpr int requests = 5;
  std::atomic<int> connections{0};
  test::RawService service{[&](test::RawService& self, boost::asio::ip::tcp::socket& socket, const std::string&) {
    ++connections;
    boost::system::error_code ended;
    std::string next;
    while (!ended && self.send(socket, ok)) {
      next.erase(0, boost::asio::read_until(socket, boost::asio::dynamic_buffer(next), "\r\n\r\n", ended));
    }
  }};
  const test::TempDir directory;
  const ProxyProcess proxy{service.port(), {"--lease", "billing", "--memory", directory.file("fence.db")}};
  for (int i = 0; i < requests; ++i) {
    HttpConnection client{proxy.port()};
    ASSERT_TRUE(client.sendRaw(postOf("/", 5)));
    ASSERT_EQ(client.read()->body(), "ok");
  }
  EXPECT_EQ(connections, 1);
}

/// It may have executed the request that it read, and nobody can ask it any more.
TEST(UpstreamThatEndsAfterItHasReadARequest, mayHaveDoneIt) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
  const auto port = acceptor.local_endpoint().port();
  ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);  // or the proxy would hold it open
  std::thread service{[&] {
    auto socket = acceptor.accept();
    boost::system::error_code ended;
    std::string text;
    text.erase(0, boost::asio::read_until(socket, boost::asio::dynamic_buffer(text), "\r\n\r\n", ended));
    boost::asio::write(socket, boost::asio::buffer(ok), ended);
    boost::asio::read_until(socket, boost::asio::dynamic_buffer(text), "\r\n\r\n", ended);
    EXPECT_EQ(text.substr(0, 6), "DELETE");
    acceptor.close();
  }};
  const test::TempDir directory;
  const ProxyProcess proxy{port, {"--lease", "billing", "--memory", directory.file("fence.db")}};
  HttpConnection client{proxy.port()};
  ASSERT_TRUE(client.sendRaw("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  ASSERT_EQ(client.read()->body(), "ok");
  ASSERT_TRUE(client.sendRaw("DELETE /x HTTP/1.1\r\nHost: h\r\nFencing-Token: billing=5\r\n\r\n"));
  const auto answer = client.read();
  service.join();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->result_int(), 502U);
  EXPECT_NE(answer->body().find("service-closed"), std::string::npos) << answer->body();
}

/// A stream of events may have none for a while.
TEST(UpstreamThatPausesBeforeItsBody, isToldAtOnce) {
  std::promise<void> told;
  const test::RawService service{[&](test::RawService& self, boost::asio::ip::tcp::socket& socket, const std::string&) {
    (void)self.send(socket, chunked);
    told.get_future().wait();
    (void)self.send(socket, "2\r\nok\r\n0\r\n\r\n");
  }};
  const test::TempDir directory;
  const ProxyProcess proxy{service.port(), {"--lease", "billing", "--memory", directory.file("fence.db")}};
  HttpConnection client{proxy.port()};
  ASSERT_TRUE(client.sendRaw("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  std::string text;
  boost::system::error_code end;
  const auto ended = boost::asio::read_until(client.socket(), boost::asio::dynamic_buffer(text), "\r\n\r\n", end);
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200 OK\r\n")) << end.message();
  EXPECT_EQ(text.size(), ended) << "nothing of the body yet";
  told.set_value();
  boost::asio::read_until(client.socket(), boost::asio::dynamic_buffer(text), "0\r\n\r\n", end);
  EXPECT_TRUE(text.ends_with("\r\n\r\n2\r\nok\r\n0\r\n\r\n")) << text;
}

/// A client of HTTP/1.0 takes the end of the connection for the end of the body, so that end must look different.
TEST(UpstreamThatEndsInTheMiddle, isNoWholeBodyForHttp10) {
  for (const std::string last : {"", "0\r\n\r\n"}) {
    const test::RawService service{
        [&](test::RawService& self, boost::asio::ip::tcp::socket& socket, const std::string&) {
          (void)self.send(socket, chunked + "2\r\nok\r\n" + last);
        }};
    const test::TempDir directory;
    const ProxyProcess proxy{service.port(), {"--lease", "billing", "--memory", directory.file("fence.db")}};
    HttpConnection client{proxy.port()};
    ASSERT_TRUE(client.sendRaw("GET / HTTP/1.0\r\n\r\n"));
    boost::system::error_code end;
    std::string text;
    boost::asio::read(client.socket(), boost::asio::dynamic_buffer(text), end);
    if (last.empty()) {
      EXPECT_EQ(end, boost::asio::error::connection_reset) << text;
    } else {
      EXPECT_EQ(end, boost::asio::error::eof);
      EXPECT_TRUE(text.ends_with("\r\n\r\nok")) << text;
    }
  }
}

TEST(UpstreamThatRefuses, hasSeenNothingOfTheRequest) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor bound{io};
  bound.open(boost::asio::ip::tcp::v4());
  bound.bind({boost::asio::ip::address_v4::loopback(), 0});  // nobody else gets the port, and nobody listens on it
  const test::TempDir directory;
  const ProxyProcess proxy{bound.local_endpoint().port(),
                           {"--lease", "billing", "--memory", directory.file("fence.db")}};
  for (const int token : {5, 5, 6}) {
    HttpConnection client{proxy.port()};
    ASSERT_TRUE(client.sendRaw(postOf("/", token)));
    const auto answer = client.read();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->result_int(), 502U);
    EXPECT_NE(answer->body().find("service-unreachable"), std::string::npos) << answer->body();
  }
  // A client that reads to the end must not wait for a connection that stays.
  for (const char* request : {"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"}) {
    HttpConnection client{proxy.port()};
    ASSERT_TRUE(client.sendRaw(request));
    const auto answer = client.read();
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->keep_alive()) << request;
    EXPECT_FALSE(client.read()) << "the connection is still open";
  }
}

}  // namespace
}  // namespace tenure
