// `tenure run --http` and `tenure history`: real processes, real sockets.
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"
#include "ops/http_peer.hpp"
#include "ops/lying_listener.hpp"

namespace tenure::test {
namespace {

class HttpRun : public GroupFixture {
 protected:
  /// Where a copy that was started with port 0 listens.
  static std::string addressOf(Subprocess& copy) {
    const std::string said = "http: listens on ";
    EXPECT_TRUE(copy.saysOnStderr(said)) << copy.errors();
    const std::string& errors = copy.errors();
    const std::size_t from = errors.find(said) + said.size();
    return errors.substr(from, errors.find('\n', from) - from);
  }
  [[nodiscard]] std::vector<std::string> runAt(const std::string& address) const {
    return run({"--http", address}, actingJob());
  }
};

TEST_F(HttpRun, ShowsWhoLeads) {
  configure();
  Subprocess alice{runAt("127.0.0.1:0"), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const std::string atAlice = addressOf(alice);
  EXPECT_EQ(ask(atAlice, "/leader").status, 200);
  EXPECT_EQ(ask(atAlice, "/leader", "OPTIONS").status, 200);
  EXPECT_EQ(ask(atAlice, "/readyz").status, 200);
  Subprocess bob{runAt("127.0.0.1:0"), as("bob")};
  const std::string atBob = addressOf(bob);
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  EXPECT_EQ(ask(atBob, "/leader").status, 503);
  EXPECT_EQ(ask(atBob, "/leader?standbyok").status, 200);
  EXPECT_EQ(ask(atBob, "/readyz").status, 200) << "standbys are ready";
  EXPECT_NE(ask(atBob, "/status").body.find(R"("leader":{"name":"alice")"), std::string::npos);
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), cli::exitOk);
  ASSERT_TRUE(begins(2));
  EXPECT_EQ(ask(atBob, "/leader").status, 200);
  EXPECT_NE(ask(atBob, "/metrics").body.find("tenure_fencing_token{group=\"test-group\"} 2\n"), std::string::npos);
}

TEST_F(HttpRun, WatchShowsACopyOnceWhereThereIsNoTerminal) {
  configure();
  Subprocess alice{runAt("127.0.0.1:0"), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const Finished shown = finish({"watch", "--http", addressOf(alice)});
  EXPECT_EQ(shown.code, 0) << shown.errors;
  EXPECT_NE(shown.output.find("test-group  LEADS\n  [###"), std::string::npos) << shown.output;
  EXPECT_NE(shown.output.find("  1  elected\n"), std::string::npos) << shown.output;
  const Finished nobody = finish({"watch", "--http", "unix:" + directory_.file("none")});
  EXPECT_EQ(nobody.code, cli::exitFailed);
  EXPECT_NE(nobody.errors.find("nothing listens on"), std::string::npos) << nobody.errors;
}

/// Both requests are sent while it is frozen and bob leads. So it cannot be elected again before it answers.
TEST_F(HttpRun, FrozenAndWokenProcessDoesNotShowLeader) {
  configure();
  Subprocess alice{runAt("127.0.0.1:0"), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  const std::string address = addressOf(alice);
  HttpPeer known{address};
  known.send("GET /leader HTTP/1.1\r\n\r\n");
  ASSERT_EQ(known.reply().value().status, 200);
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));
  ASSERT_TRUE(begins(2)) << bob.errors();
  HttpPeer fresh{address};
  for (HttpPeer* peer : {&known, &fresh}) {
    peer->send("GET /leader HTTP/1.1\r\n\r\nGET /status HTTP/1.1\r\n\r\n");
  }
  alice.signal(SIGCONT);
  for (HttpPeer* peer : {&known, &fresh}) {
    const auto leader = peer->reply();
    ASSERT_TRUE(leader);
    EXPECT_EQ(leader->status, 503) << leader->body;
    EXPECT_NE(peer->reply().value().body.find(R"("leads":false)"), std::string::npos);
  }
  EXPECT_EQ(ask(address, "/livez").status, 200) << "it lives";
  EXPECT_TRUE(eventually([&] {
    return ask(address, "/history").body.find(R"("event":"revoked","fencing_token":1,"reason":"expired")") !=
           std::string::npos;
  }));
}

TEST_F(HttpRun, AddressThatCannotBeUsedEndsItBeforeItCompetes) {
  configure();
  const Finished bad = runToEnd(runAt("localhost:9200"), as("alice"));
  EXPECT_EQ(bad.code, cli::exitUsage);
  EXPECT_NE(bad.errors.find("127.0.0.1:9200"), std::string::npos) << bad.errors;
  Subprocess alice{runAt("unix:" + directory_.file("s")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const Finished taken = runToEnd(runAt("unix:" + directory_.file("s")), as("bob"));
  EXPECT_EQ(taken.code, cli::exitFailed) << "it may be free when it is started again";
  EXPECT_NE(taken.errors.find("is taken: another process listens there"), std::string::npos) << taken.errors;
  EXPECT_NE(taken.errors.find("nothing was done"), std::string::npos) << taken.errors;
  EXPECT_EQ(ask("unix:" + directory_.file("s"), "/leader").status, 200);
}

TEST_F(HttpRun, HistoryOfARunningCopy) {
  const std::string socket = "unix:" + directory_.file("s");
  configure({}, "http: { listen: \"" + socket + "\" }\n");
  EXPECT_EQ(finish({"history", "--config", config()}).code, cli::exitFailed);
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const Finished resigned = finish({"resign", "--config", config()});
  ASSERT_EQ(resigned.code, 0) << resigned.errors;
  ASSERT_TRUE(begins(2)) << "nobody else competes";
  const Finished table = finish({"history", config()});
  EXPECT_EQ(table.code, 0) << table.errors;
  EXPECT_NE(table.output.find("test-group\n"), std::string::npos) << table.output;
  EXPECT_NE(table.output.find("1  revoked (steppedDown)"), std::string::npos) << table.output;
  EXPECT_NE(table.output.find("2  elected\n"), std::string::npos) << table.output;
  const Finished json = finish({"history", "--http", socket, "--json"});
  EXPECT_EQ(json.code, 0) << json.errors;
  EXPECT_TRUE(json.output.starts_with(R"({"groups":[{"group":"test-group","events":[{"at":)")) << json.output;
  EXPECT_EQ(finish({"history"}).code, cli::exitUsage);
  EXPECT_EQ(finish({"history", "--http", "nowhere"}).code, cli::exitUsage);
}

/// It may be another program, or one that lies.
TEST_F(HttpRun, NoWordOfAListenerSteersTheTerminal) {
  const std::string hostile = R"(\u001b[2J\u009b2J\u202e\r\n)";
  const std::string body =
      R"({"groups":[{"group":")" + hostile + R"(","events":[{"event":"revoked","fencing_token":1,"at_ms":)" +
      R"(9223372036854775807,"reason":")" + hostile + R"(","detail":")" + hostile + R"("}]}],)" +
      R"("electors":[{"group":")" + hostile + R"(","state":")" + hostile + std::string(500, 'x') + R"("}]})";
  const LyingListener liar{"HTTP/1.1 200 OK\r\n\r\n" + body};
  for (const char* command : {"history", "watch"}) {
    const Finished shown = finish({command, "--http", liar.address()});
    EXPECT_EQ(shown.code, 0) << shown.errors;
    for (const char c : shown.output) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F)) << shown.output;
  }
  const LyingListener nonsense{"HTTP/1.1 200 OK\r\n\r\n\x1b[2J"};
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"history"}, {"history", "--json"}, {"watch"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--http", nonsense.address()});
    const Finished refused = finish(words);
    EXPECT_EQ(refused.code, cli::exitFailed);
    EXPECT_EQ((refused.output + refused.errors).find('\x1b'), std::string::npos) << refused.errors;
  }
}

/// Rules and panels join families by it, so a name with quotes is one label, however many families have it.
TEST_F(HttpRun, EachMetricNamesTheGroupAlike) {
  configure();
  std::string text = contentOf(config());
  text.replace(text.find("test-group"), std::string_view{"test-group"}.size(), R"("a\"b\\c")");
  directory_.write("group.yaml", text);
  Subprocess alice{runAt("127.0.0.1:0"), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const std::string metrics = ask(addressOf(alice), "/metrics").body;
  EXPECT_NE(metrics.find(R"(tenure_job_running{group="a\"b\\c"} 1)"), std::string::npos) << metrics;
  for (std::size_t at = 0; (at = metrics.find("group=", at)) != std::string::npos; ++at) {
    EXPECT_TRUE(std::string_view{metrics}.substr(at).starts_with(R"(group="a\"b\\c")")) << metrics.substr(at, 60);
  }
}

/// A job that ends by itself makes `run` compete anew; what was counted before stays.
TEST_F(HttpRun, CountsGoOnInTheNextCandidacy) {
  configure();
  Subprocess alice{run({"--http", "127.0.0.1:0"}, {"true"}), as("alice")};
  const std::string address = addressOf(alice);
  EXPECT_TRUE(eventually([&] {
    return ask(address, "/metrics").body.find("tenure_terms_total{group=\"test-group\"} 2\n") != std::string::npos;
  }));
}

}  // namespace
}  // namespace tenure::test
