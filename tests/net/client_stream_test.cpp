// Replies that are delivered line by line: what arrives, how they end, and what a hostile server costs.
#include <atomic>
#include <latch>
#include <sys/socket.h>

#include <boost/version.hpp>
#include <gtest/gtest.h>

#include "net/stream_calls.hpp"

namespace tenure::test {
namespace {

using net::HttpClient;
using Lines = std::vector<std::string>;

constexpr net::StreamLimits patient{.accept = 20s, .silence = 20s};

class HttpStream : public testing::Test {
 protected:
  /// Sends to a server with this script, and waits for the end.
  net::HttpOutcome endOf(const Script& script, const net::StreamLimits& limits = patient) {
    TestServer server{script};
    const auto stream = client_->stream(plainAt(server.port()), {}, limits, heard_.handlers());
    return heard_.end();
  }

  void expectFault(const net::HttpOutcome& outcome, HttpError::Kind kind, const std::string& words) {
    ASSERT_FALSE(outcome) << outcome->status;
    EXPECT_EQ(outcome.error().kind, kind) << outcome.error().message;
    EXPECT_NE(outcome.error().message.find(words), std::string::npos) << outcome.error().message;
    EXPECT_EQ(heard_.ends(), 1);
  }

  HeardStream heard_{};
  std::shared_ptr<HttpClient> client_{HttpClient::make({.maxReply = 65536})};
};

TEST_F(HttpStream, linesComeAsTheyArrive) {
  std::string request;
  std::latch goOn{1};
  TestServer server{[&](Peer& peer) {
    request = peer.readRequest();
    peer.write(chunkedHead + chunk("first\nsec"));
    goOn.wait();
    peer.write(chunk("ond\r\n\n\n") + chunk("third\n") + "0\r\n\r\n");
    peer.waitForEnd();
  }};
  const auto stream =
      client_->stream(plainAt(server.port()), {.target = "/watch", .body = "{}"}, patient, heard_.handlers());
  EXPECT_TRUE(eventually([&] { return heard_.lines() == Lines{"first"}; }));
  goOn.count_down();
  const auto end = heard_.end();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->status, 200);
  EXPECT_EQ(end->body, "");
  EXPECT_EQ(heard_.lines(), (Lines{"first", "second", "third"}));
  EXPECT_EQ(request.find("POST /watch HTTP/1.1\r\n"), 0U);
}

TEST_F(HttpStream, theEndOfTheBodyEndsALine) {
  for (const std::string& bytes :
       {chunkedHead + chunk("a\nb") + "0\r\n\r\n", std::string{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na\nb"}}) {
    HeardStream heard;
    TestServer server{says(bytes)};
    const auto stream = client_->stream(plainAt(server.port()), {}, patient, heard.handlers());
    ASSERT_TRUE(heard.end());
    EXPECT_EQ(heard.lines(), (Lines{"a", "b"}));
  }
}

TEST_F(HttpStream, aBodyUntilTheEndOfTheConnection) {
  EXPECT_TRUE(endOf(says("HTTP/1.1 200 OK\r\n\r\na\nb\n")));
  EXPECT_EQ(heard_.lines(), (Lines{"a", "b"}));
}

TEST_F(HttpStream, anEndInsideALineDropsIt) {
  expectFault(endOf(says("HTTP/1.1 200 OK\r\n\r\na\nhal")), HttpError::Kind::closed, "inside a line");
  EXPECT_EQ(heard_.lines(), Lines{"a"});
}

TEST_F(HttpStream, anEndInsideAChunkIsNoEnd) {
  expectFault(endOf(says(chunkedHead + "64\r\na\nhal")), HttpError::Kind::closed, "before the reply was whole");
  EXPECT_EQ(heard_.lines(), Lines{"a"});
}

TEST_F(HttpStream, otherStatusesAreAnswersWithTheirBody) {
  for (const std::string status : {"401 Unauthorized", "503 Service Unavailable", "302 Found"}) {
    HeardStream heard;
    TestServer server{says("HTTP/1.1 " + status + "\r\nContent-Length: 12\r\nX-A: b\r\n\r\n{\"code\":16}\n")};
    const auto stream = client_->stream(plainAt(server.port()), {}, patient, heard.handlers());
    const auto end = heard.end();
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->status, std::stoi(status));
    EXPECT_EQ(end->body, "{\"code\":16}\n");
    EXPECT_EQ(end->header("x-a"), "b");
    EXPECT_TRUE(heard.lines().empty());
  }
}

TEST_F(HttpStream, aLongAnswerInsteadOfAStreamIsBounded) {
  expectFault(endOf(says("HTTP/1.1 500 No\r\nContent-Length: 70000\r\n\r\n" + std::string(70000, 'x'))),
              HttpError::Kind::tooLarge, "longer than 65536");
}

TEST_F(HttpStream, moreThanAReplyMayHaveStreamsThrough) {
  const std::string line(60'000, 'x');
  const auto end = endOf([&](Peer& peer) {
    if (peer.readRequest().empty()) return;
    peer.write(chunkedHead);
    for (int i = 0; i < 100; ++i) peer.write(chunk(line) + chunk("\n"));
    peer.write("0\r\n\r\n");
    peer.waitForEnd();
  });
  ASSERT_TRUE(end) << end.error().message;
  ASSERT_EQ(heard_.lines().size(), 100U);
  EXPECT_EQ(heard_.lines().back(), line);
}

TEST_F(HttpStream, aLineWithoutEnd) {
  const auto end = endOf(
      [](Peer& peer) {
        if (peer.readRequest().empty()) return;
        peer.write(chunkedHead + chunk("whole\n"));
        while (peer.write(chunk(std::string(1000, 'x')))) {
        }
      },
      {.accept = 20s, .silence = 20s, .longestLine = 5000});
  expectFault(end, HttpError::Kind::tooLarge, "longer than 5000 bytes");
  EXPECT_EQ(heard_.lines(), Lines{"whole"});
}

TEST_F(HttpStream, chunkSizesThatLie) {
  for (const std::string lie : {"ffffffffffffffffff\r\n", "-5\r\n", "xyz\r\n", "\r\n"}) {
    HeardStream heard;
    TestServer server{says(chunkedHead + chunk("a\n") + lie + "b\n")};
    const auto stream = client_->stream(plainAt(server.port()), {}, patient, heard.handlers());
    const auto end = heard.end();
    ASSERT_FALSE(end) << lie;
    EXPECT_EQ(end.error().kind, HttpError::Kind::protocol) << end.error().message;
    EXPECT_EQ(heard.lines(), Lines{"a"}) << lie;
  }
}

/// What is announced takes no memory before it is there.
TEST_F(HttpStream, aLengthThatLies) {
  expectFault(endOf(says("HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\na\n")), HttpError::Kind::closed,
              "before the reply was whole");
  EXPECT_EQ(heard_.lines(), Lines{"a"});
}

TEST_F(HttpStream, aHeadWithoutEnd) {
  const auto end = endOf([](Peer& peer) {
    if (peer.readRequest().empty()) return;
    peer.write("HTTP/1.1 200 OK\r\n");
    while (peer.write("X-More: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  expectFault(end, HttpError::Kind::tooLarge, "longer than 65536");
}

TEST_F(HttpStream, interimRepliesWithoutEnd) {
  const auto end = endOf([](Peer& peer) {
    if (peer.readRequest().empty()) return;
    while (peer.write("HTTP/1.1 102 Processing\r\n\r\n")) {
    }
  });
  expectFault(end, HttpError::Kind::tooLarge, "longer than 65536");
}

TEST_F(HttpStream, aChunkHeadWithoutEnd) {
  const auto end = endOf([](Peer& peer) {
    if (peer.readRequest().empty()) return;
    peer.write(chunkedHead + "5;x=");
    while (peer.write(std::string(1000, 'x'))) {
    }
  });
  // Beast bounds it itself since Boost 1.92.
  if (BOOST_VERSION >= 109200) return expectFault(end, HttpError::Kind::protocol, "bad chunk extension");
  expectFault(end, HttpError::Kind::tooLarge, "longer than 65536");
}

/// They are not kept. They are nothing of the body, so the stream is silent meanwhile.
TEST_F(HttpStream, trailersWithoutEnd) {
  const auto end = endOf(
      [](Peer& peer) {
        if (peer.readRequest().empty()) return;
        peer.write(chunkedHead + chunk("a\n") + "0\r\n");
        while (peer.write("X-More: " + std::string(1000, 'x') + "\r\n")) {
        }
      },
      {.accept = 20s, .silence = 300ms});
  ASSERT_FALSE(end);
  EXPECT_EQ(heard_.lines(), Lines{"a"});
}

TEST_F(HttpStream, bytesAfterTheEndAreNothing) {
  EXPECT_TRUE(endOf(says(chunkedHead + chunk("a\n") + "0\r\n\r\nHTTP/1.1 200 OK\r\n\r\nb\n")));
  EXPECT_EQ(heard_.lines(), Lines{"a"});
}

TEST_F(HttpStream, aMillionEmptyLines) {
  const auto end = endOf([](Peer& peer) {
    if (peer.readRequest().empty()) return;
    peer.write(chunkedHead);
    for (int i = 0; i < 1000; ++i) peer.write(chunk(std::string(1000, '\n')));
    peer.write(chunk("last\n") + "0\r\n\r\n");
    peer.waitForEnd();
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(heard_.lines(), Lines{"last"});
}

TEST_F(HttpStream, aServerThatDoesNotAnswer) {
  const auto end = endOf([](Peer& peer) { peer.waitForEnd(); }, {.accept = 200ms, .silence = 20s});
  expectFault(end, HttpError::Kind::timeout, "timed out after 200 ms while waiting for the reply");
  EXPECT_TRUE(end.error().maybeSent);
}

TEST_F(HttpStream, aServerThatIsNotThere) {
  const auto stream = client_->stream(plainAt(closedPort()), {}, patient, heard_.handlers());
  const auto end = heard_.end();
  expectFault(end, HttpError::Kind::connect, "no connection");
  EXPECT_FALSE(end.error().maybeSent);
}

TEST_F(HttpStream, aRequestThatCannotBeSent) {
  const auto stream = client_->stream(plainAt(closedPort()), {.target = "/a b"}, patient, heard_.handlers());
  expectFault(heard_.end(), HttpError::Kind::protocol, "cannot be sent");
}

TEST_F(HttpStream, silence) {
  const auto end = endOf(
      [](Peer& peer) {
        if (peer.readRequest().empty()) return;
        peer.write(chunkedHead + chunk("a\n"));
        peer.waitForEnd();
      },
      {.accept = 20s, .silence = 200ms});
  expectFault(end, HttpError::Kind::timeout, "nothing has come on the stream for 200 ms");
}

/// A head alone, and no line for longer than `accept`: the stream is accepted and not silent yet.
TEST_F(HttpStream, aServerThatHasAcceptedMayBeSilentForLonger) {
  const auto end = endOf(
      [](Peer& peer) {
        if (peer.readRequest().empty()) return;
        peer.write(chunkedHead);
        peer.waitForEnd();
      },
      {.accept = 1s, .silence = 1500ms});
  expectFault(end, HttpError::Kind::timeout, "nothing has come on the stream for 1500 ms");
}

TEST_F(HttpStream, aStreamThatNeverEndsHasALongestTime) {
  const auto end = endOf(
      [](Peer& peer) {
        if (peer.readRequest().empty()) return;
        peer.write(chunkedHead);
        while (peer.write(chunk("\n"))) {
        }
      },
      {.accept = 20s, .silence = 20s, .longest = 300ms});
  expectFault(end, HttpError::Kind::timeout, "has lasted for 300 ms");
}

/// The server has to wait while the handler works, and the time of the handler is no silence.
TEST_F(HttpStream, aSlowHandlerHoldsTheServerUp) {
  std::atomic<std::size_t> written{0};
  std::atomic<bool> stands{false};
  std::latch goOn{1};
  TestServer server{[&](Peer& peer) {
    if (peer.readRequest().empty()) return;
    const timeval pause{0, 200'000};
    setsockopt(peer.fd(), SOL_SOCKET, SO_SNDTIMEO, &pause, sizeof pause);
    peer.write(chunkedHead);
    const std::string lines = chunk(std::string(999, 'x') + "\n");
    while (written.load() < (256U << 20U) && peer.write(lines)) written += lines.size();
    stands = true;
    peer.waitForEnd();
  }};
  std::atomic<int> lines{0};
  auto handlers = heard_.handlers();
  handlers.onLine = [&](std::string_view) {
    if (lines.fetch_add(1) == 0) goOn.wait();
  };
  auto stream = client_->stream(plainAt(server.port()), {}, {.accept = 20s, .silence = 150ms}, handlers);
  EXPECT_TRUE(eventually([&] { return stands.load(); }));
  EXPECT_LT(written.load(), 128U << 20U);  // what the sockets hold
  EXPECT_EQ(lines.load(), 1);
  goOn.count_down();
  EXPECT_TRUE(eventually([&] { return lines.load() > 100; }));
}

TEST_F(HttpStream, theHandleMayBeDestroyedInsideTheHandler) {
  TestServer server{says(chunkedHead + chunk("a\nb\nc\n") + "0\r\n\r\n")};
  for (int i = 0; i < 50; ++i) {
    std::atomic<int> lines{0};
    std::atomic<int> ends{0};
    std::latch ready{1};
    std::shared_ptr<void> stream;
    stream = client_->stream(plainAt(server.port()), {}, patient,
                             {[&](std::string_view) {
                                ready.wait();
                                stream.reset();
                                ++lines;
                              },
                              [&](const net::HttpOutcome&) { ++ends; }});
    ready.count_down();
    ASSERT_TRUE(eventually([&] { return lines.load() == 1; }));
    ASSERT_TRUE(call(*client_, plainAt(closedPort())).has_error());  // the thread has gone on
    EXPECT_EQ(lines.load(), 1);
    EXPECT_EQ(ends.load(), 0);
  }
}

TEST_F(HttpStream, afterTheDestructionNothingIsCalledAndTheConnectionEnds) {
  TestServer server{[](Peer& peer) {
    if (peer.readRequest().empty()) return;
    peer.write(chunkedHead);
    while (peer.write(chunk("x\n"))) {
    }
  }};
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> gone{false};
    std::atomic<int> late{0};
    std::atomic<int> lines{0};
    auto stream = client_->stream(plainAt(server.port()), {}, patient,
                                  {[&](std::string_view) {
                                     ++lines;
                                     if (gone.load()) ++late;
                                   },
                                   [&](const net::HttpOutcome&) { ++late; }});
    if (i % 2 == 0) {
      ASSERT_TRUE(eventually([&] { return lines.load() > 10; }));
    }
    stream.reset();
    gone = true;
    EXPECT_TRUE(eventually([&] { return server.open() == 0; }));
    EXPECT_EQ(late.load(), 0);
  }
}

TEST_F(HttpStream, theClientsEndIsToldOnce) {
  TestServer server{[](Peer& peer) {
    if (peer.readRequest().empty()) return;
    peer.write(chunkedHead + chunk("x\n"));
    peer.waitForEnd();
  }};
  const auto stream = client_->stream(plainAt(server.port()), {}, patient, heard_.handlers());
  ASSERT_TRUE(eventually([&] { return heard_.lines().size() == 1; }));
  HeardStream unheard;
  const auto other = client_->stream(plainAt(server.port()), {}, patient, unheard.handlers());
  client_.reset();
  expectFault(heard_.end(), HttpError::Kind::cancelled, "the client was closed");
  EXPECT_FALSE(unheard.end());
  EXPECT_EQ(unheard.ends(), 1);
}

TEST_F(HttpStream, theHandlerMayDestroyTheClient) {
  TestServer server{says(chunkedHead + chunk("a\nb\n") + "0\r\n\r\n")};
  for (int i = 0; i < 50; ++i) {
    auto client = HttpClient::make();
    auto owner = std::make_shared<std::shared_ptr<HttpClient>>(client);
    std::atomic<int> ends{0};
    std::latch ready{1};
    HttpClient* raw = client.get();
    client.reset();
    const auto stream = raw->stream(plainAt(server.port()), {}, patient,
                                    {[&, owner](std::string_view) {
                                       ready.wait();
                                       owner->reset();
                                     },
                                     [&](const net::HttpOutcome&) { ++ends; }});
    ready.count_down();
    ASSERT_TRUE(eventually([&] { return ends.load() == 1; }));
  }
}

TEST_F(HttpStream, callsAndStreamsGoBesideEachOther) {
  TestServer server{[](Peer& peer) {
    for (std::string request = peer.readRequest(); !request.empty(); request = peer.readRequest()) {
      if (request.find("/watch") == std::string::npos) {
        peer.reply("answer");
      } else {
        peer.write(chunkedHead + chunk("x\n"));
      }
    }
  }};
  const auto client = HttpClient::make({.maxConnections = 1});
  std::vector<std::shared_ptr<void>> streams;
  std::vector<HeardStream> heard(10);
  for (HeardStream& one : heard) {
    streams.push_back(client->stream(plainAt(server.port()), {.target = "/watch"}, patient, one.handlers()));
    const auto outcome = call(*client, plainAt(server.port()));
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->body, "answer");
  }
  for (HeardStream& one : heard) EXPECT_TRUE(eventually([&] { return one.lines() == Lines{"x"}; }));
  EXPECT_EQ(server.accepted(), 11);
}

}  // namespace
}  // namespace tenure::test
