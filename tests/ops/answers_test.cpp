// What is answered to which request, on a stage with a manual clock and without a socket.
#include "election/ops/src/answers.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/ops/metrics.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using ops::Answer;
using ops::Method;
using ops::WatchedElectors;

class Answers : public testing::Test {
 protected:
  Candidate started(const std::string& name, const Adjust& adjust = {}) {
    Candidate candidate = stage_.candidate(name, adjust);
    electors_.watch(candidate->view());
    candidate->start();
    (void)stage_.advanceUntil([&] { return candidate->isLeader(); }, 100ms);  // a standby does not become one
    return candidate;
  }
  Answer get(std::string_view target) { return answerTo(Method::get, target, electors_); }
  int status(std::string_view target) { return get(target).status; }

  Stage stage_;
  WatchedElectors electors_{10s};
};

TEST_F(Answers, LeaderIs200OnlyWhileThisProcessLeads) {
  EXPECT_EQ(status("/leader"), 503) << "nothing competes yet";
  const Candidate a = started("a");
  const Answer leads = get("/leader");
  EXPECT_EQ(leads.status, 200);
  EXPECT_EQ(leads.type, "application/json");
  EXPECT_NE(leads.body.find(R"("leads":true,"fencing_token":1,"remaining_ms":269)"), std::string::npos) << leads.body;
  stage_.pause(2'696ms);
  EXPECT_EQ(status("/leader"), 503) << "by the clock alone: no thread of the library has run";
  EXPECT_NE(get("/leader").body.find(R"("leads":false,"fencing_token":null,"remaining_ms":0)"), std::string::npos);
}

TEST_F(Answers, TargetMayBeOfTheKindThatProxiesGet) {
  const Candidate a = started("a");
  EXPECT_EQ(status("http://127.0.0.1:9200/leader?group=" + a->view().group()), 200);
  EXPECT_EQ(status("http://x"), 200) << "the page";
  for (const char* text : {"http:/leader", "http://x/http://x/leader", "//x/leader", "x/leader", "*", ""}) {
    EXPECT_EQ(status(text), 404) << text;
  }
}

TEST_F(Answers, StandbyIs200WhereItIsAskedFor) {
  const Candidate a = stage_.leader("a");
  const Candidate b = started("b");
  stage_.advance(100ms);
  EXPECT_EQ(status("/leader"), 503);
  EXPECT_EQ(status("/leader?standbyok"), 200);
  EXPECT_EQ(status("/leader?standbyok=1"), 200);
  EXPECT_EQ(status("/leader?x=1&standbyok&y"), 200);
  EXPECT_EQ(status("/leader?notstandbyok"), 503);
  EXPECT_NE(get("/leader?standbyok").body.find(R"("leads":false)"), std::string::npos);
  stage_.stop(b);
  EXPECT_EQ(status("/leader?standbyok"), 503) << "it does not compete any more";
}

TEST_F(Answers, ObserverIsNoStandby) {
  const Candidate o = started("o", [](GroupOptions& options) { options.candidate.mode = CandidateMode::observe; });
  EXPECT_EQ(status("/leader?standbyok"), 503);
}

TEST_F(Answers, GroupIsNamedWhereThereAreSeveral) {
  const Candidate a = started("a");
  EXPECT_EQ(status("/leader?group=stage"), 200);
  EXPECT_EQ(status("/leader?group=%73tage"), 200);
  EXPECT_EQ(status("/leader?group=other"), 404);
  const Candidate b = started("b", [](GroupOptions& options) { options.group = "other"; });
  EXPECT_EQ(status("/leader"), 400) << "it is not clear which";
  EXPECT_EQ(status("/leader?group=other"), 200);
}

TEST_F(Answers, StandbysAreReady) {
  EXPECT_EQ(status("/readyz"), 503);
  const Candidate a = stage_.leader("a");
  const Candidate b = stage_.candidate("b");
  electors_.watch(b->view());
  EXPECT_EQ(status("/readyz"), 503) << "not started";
  b->start();
  stage_.settle();
  EXPECT_EQ(status("/readyz"), 200);
  stage_.stop(b);
  EXPECT_EQ(status("/readyz"), 503);
}

TEST_F(Answers, CopyWhoseStoreHasNeverAnsweredIsNotReady) {
  Candidate a = stage_.candidate("a");
  a.store->setAll(Fault::rejected);
  electors_.watch(a->view());
  a->start();
  stage_.advance(5s);
  EXPECT_EQ(status("/readyz"), 503);
  a.store->setAll(Fault::none);
  stage_.advance(5s);
  EXPECT_EQ(status("/readyz"), 200);
}

TEST_F(Answers, LivenessCountsLooksAndNotTheTimeOfAFreeze) {
  const Candidate a = started("a");
  for (int i = 0; i < 20; ++i) {
    stage_.advance(1s);
    electors_.look();
  }
  EXPECT_EQ(status("/livez"), 200);
  stage_.pause(1h);
  electors_.look();
  EXPECT_EQ(status("/livez"), 200) << "just woken: one look";
  for (int i = 0; i < 9; ++i) electors_.look();
  EXPECT_EQ(status("/livez"), 503) << "the process runs, and its renewal thread does not";
  stage_.advance(1ms);
  electors_.look();
  EXPECT_EQ(status("/livez"), 200);
}

TEST_F(Answers, OutageOfTheStoreIsNoReasonToKillTheProcess) {
  const Candidate a = started("a");
  a.store->setAll(Fault::rejected);
  for (int i = 0; i < 60; ++i) {
    stage_.advance(1s);
    electors_.look();
    ASSERT_EQ(status("/livez"), 200);
  }
}

TEST_F(Answers, OtherPathsAndMethods) {
  const Candidate a = started("a");
  EXPECT_EQ(status("/nothing"), 404);
  EXPECT_EQ(status(""), 404);
  EXPECT_EQ(status("*"), 404);
  EXPECT_EQ(status("/leader/"), 404);
  EXPECT_EQ(answerTo(Method::other, "/leader", electors_).status, 405);
  EXPECT_TRUE(answerTo(Method::other, "/leader", electors_).tellsMethods);
  EXPECT_NE(get("/metrics").body.find("tenure_leader{group=\"stage\"} 1\n"), std::string::npos);
  EXPECT_NE(get("/status").body.find(R"("state":"leading")"), std::string::npos) << get("/status").body;
  EXPECT_NE(get("/history").body.find(R"("event":"elected")"), std::string::npos);
  EXPECT_NE(get("/").body.find("<html"), std::string::npos);
}

/// Headers of scrapers and odd ones. "expfmt" is the answer of Prometheus's own library, which
/// tests/interop/prometheus_reads_metrics.py asks again; "tenure" is there where ours is another, and "why".
TEST_F(Answers, MetricsAreInTheTextThatTheAcceptHeaderPrefers) {
  const Candidate a = started("a");
  std::stringstream in;
  in << std::ifstream{TENURE_SOURCE "/tests/ops/accept_headers.json"}.rdbuf();
  const boost::json::value table = boost::json::parse(in.str());
  ASSERT_GE(table.as_array().size(), 40U);
  for (const auto& row : table.as_array()) {
    const std::string accept{row.at("accept").as_string()};
    const boost::json::value* own = row.as_object().if_contains("tenure");
    const Answer answer = answerTo(Method::get, "/metrics", electors_, accept);
    EXPECT_EQ(answer.status, 200) << accept;
    EXPECT_EQ(answer.type, std::string_view{own != nullptr ? own->as_string() : row.at("expfmt").as_string()})
        << accept;
    EXPECT_EQ(answer.body.ends_with("# EOF\n"), answer.type.starts_with("application/openmetrics-text")) << accept;
    EXPECT_NE(answer.body.find("tenure_leader{group=\"stage\"} 1\n"), std::string::npos) << accept;
  }
}

TEST_F(Answers, OnlyMetricsHaveSeveralTexts) {
  const Candidate a = started("a");
  for (const char* path : {"/leader", "/status", "/history", "/livez", "/readyz", "/", "/nothing"}) {
    EXPECT_EQ(answerTo(Method::get, path, electors_, std::string{ops::openMetricsType}).type, get(path).type) << path;
  }
}

TEST_F(Answers, HeadAndOptionsHaveTheStatusOfGet) {
  const Candidate a = started("a");
  for (const char* target : {"/leader", "/readyz", "/nothing", "/metrics"}) {
    for (const Method method : {Method::head, Method::options}) {
      EXPECT_EQ(answerTo(method, target, electors_).status, status(target)) << target;
    }
  }
}

TEST_F(Answers, MessagesAreWhole) {
  const Answer answer{200, "text/plain", "ok\n"};
  EXPECT_EQ(messageOf(answer, Method::get, 11, true),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nCache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\n\r\nok\n");
  EXPECT_TRUE(messageOf(answer, Method::head, 11, true)
                  .ends_with("Content-Length: 3\r\nCache-Control: no-store\r\n"
                             "X-Content-Type-Options: nosniff\r\n\r\n"));
  const std::string options = messageOf(answerTo(Method::options, "/", electors_), Method::options, 10, false);
  EXPECT_NE(options.find("\r\nContent-Length: 0\r\n"), std::string::npos);
  EXPECT_NE(options.find("\r\nAllow: GET, HEAD, OPTIONS\r\nConnection: close\r\n\r\n"), std::string::npos) << options;
  EXPECT_NE(messageOf(answer, Method::get, 10, true).find("\r\nConnection: keep-alive\r\n"), std::string::npos);
}

bool mayAskAt(const char* listener, std::string_view host, const std::vector<std::string>& hosts = {},
              const std::string& connectedTo = {}) {
  const ListenAddress address = parseListen(listener).value();
  return ops::mayAsk(host, address, connectedTo.empty() ? address.host : connectedTo, hosts);
}

TEST(Hosts, AListenerOnLoopbackAnswersToLoopbackAlone) {
  for (const char* good : {"localhost", "localhost:9200", "LocalHost:1", "localhost.", "127.0.0.1", "127.0.0.1:9200",
                           "127.1.2.3:80", "[::1]", "[::1]:9200", "localhost:"}) {
    EXPECT_TRUE(mayAskAt("127.0.0.1:9200", good)) << good;
    EXPECT_TRUE(mayAskAt("[::1]:9200", good)) << good;
  }
  for (const char* bad :
       {"evil.example", "evil.example:9200", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "0.0.0.0",
        "[::2]:9200", "[::1", "[::1]x", "localhost:x", "localhost@evil.example", "127.0.0.1:80:80", "xlocalhost", " ",
        "2130706433", "[::ffff:10.0.0.1]", "localhost..", "localhost:99999"}) {
    EXPECT_FALSE(mayAskAt("127.0.0.1:9200", bad)) << bad;
    EXPECT_FALSE(mayAskAt("[::1]:9200", bad)) << bad;
  }
}

TEST(Hosts, AnyOtherListenerKnowsNamesOnlyWhereTheyAreGiven) {
  EXPECT_TRUE(mayAskAt("0.0.0.0:9200", "any.example"));
  EXPECT_TRUE(mayAskAt("unix:/run/x", "any.example", {"leader.example"}));
  const std::vector<std::string> hosts{"Leader.Example.", "[fd00::7]"};
  for (const char* good : {"leader.example", "LEADER.example:9200", "[fd00::7]:1", "localhost", "10.0.0.7:9200"}) {
    EXPECT_TRUE(mayAskAt("0.0.0.0:9200", good, hosts, "10.0.0.7")) << good;
  }
  EXPECT_TRUE(mayAskAt("127.0.0.1:9200", "leader.example", hosts)) << "behind a proxy of this machine";
  for (const char* bad : {"any.example", "10.0.0.8", "x.leader.example"}) {
    EXPECT_FALSE(mayAskAt("0.0.0.0:9200", bad, hosts, "10.0.0.7")) << bad;
  }
}

TEST(Hosts, AreNamesWithoutPorts) {
  for (const char* good : {"leader.example.org", "10.0.0.7", "[fd00::7]", "a_b", "Leader"}) {
    EXPECT_EQ(faultOfHost(good), "") << good;
  }
  for (const char* bad : {"", "leader:9200", "[fd00::7]:9200", "http://leader", "a b", "fd00::7", "*", "leader:"}) {
    EXPECT_NE(faultOfHost(bad), "") << bad;
  }
}

/// The events that are sent next to a client with this id, or to a new one.
std::string sentTo(const ops::LeaderEvents& events, const std::string& id = {}) {
  std::optional<std::uint64_t> after = events.numberOf(id);
  std::string out = events.since(after);
  EXPECT_EQ(events.since(after), "") << "each once";
  return out;
}

TEST(LeaderEvents, ANewClientGetsTheLastOfEachGroupInTheirOrder) {
  ops::LeaderEvents events{"r"};
  EXPECT_EQ(sentTo(events), "");
  events.note("a", "1");
  events.note("b", "2");
  events.note("a", "1");  // no change
  events.note("a", "3");
  EXPECT_EQ(sentTo(events), "event: leader\ndata: 2\nid: r-2\n\nevent: leader\ndata: 3\nid: r-3\n\n");
}

TEST(LeaderEvents, AClientThatComesBackGetsAllThatItMissed) {
  ops::LeaderEvents events{"r"};
  for (const char* data : {"1", "2", "3"}) events.note("a", data);
  EXPECT_EQ(sentTo(events, "r-1"), "event: leader\ndata: 2\nid: r-2\n\nevent: leader\ndata: 3\nid: r-3\n\n");
  EXPECT_EQ(sentTo(events, "r-3"), "");
}

TEST(LeaderEvents, AnIdThatIsForeignOrTooOldGetsThePresentState) {
  ops::LeaderEvents events{"r"};
  events.note("old", "x");
  for (std::size_t i = 0; i <= ops::LeaderEvents::kept; ++i) events.note("a", std::to_string(i));
  const std::string present = sentTo(events);
  EXPECT_NE(present.find("data: x\n"), std::string::npos);
  for (const char* id :
       {"q-1", "r", "r-", "r-x", "r-1x", "r--1", "r-99999", "r-18446744073709551616", "r-0", "r-1", "1"}) {
    EXPECT_EQ(sentTo(events, id), present) << id;
  }
  std::optional<std::uint64_t> after = events.numberOf("r-2");
  ASSERT_TRUE(after);
  const std::string all = events.since(after);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 4 * static_cast<std::ptrdiff_t>(ops::LeaderEvents::kept));
}

TEST(LeaderEvents, AGroupsFollowerGetsItsEventsAlone) {
  ops::LeaderEvents events{"r"};
  events.note("a", "x");
  events.note("b", "y");
  std::optional<std::uint64_t> after;
  const std::string present = events.since(after, "b");
  EXPECT_NE(present.find("data: y\n"), std::string::npos);
  EXPECT_EQ(present.find("data: x\n"), std::string::npos);
  events.note("a", "z");
  EXPECT_EQ(events.since(after, "b"), "");
  events.note("b", "w");
  EXPECT_EQ(events.since(after, "b"), "event: leader\ndata: w\nid: r-4\n\n");
}

/// Events say what was: nothing in them changes while the same candidate leads, and a term that is over by the clock is
/// over in them.
TEST_F(Answers, EventsComeAtChangesOfTheLeaderAlone) {
  const Candidate a = started("a");
  std::optional<std::uint64_t> after;
  electors_.noteLeaders();
  const std::string first = electors_.events().since(after);
  EXPECT_NE(first.find(R"("leads":true,"fencing_token":1,"leader":{"name":"a")"), std::string::npos) << first;
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 4) << first;
  stage_.advance(10s);
  electors_.noteLeaders();
  EXPECT_EQ(electors_.events().since(after), "") << "it was renewed, and nothing else";
  stage_.pause(2'696ms);
  electors_.noteLeaders();
  EXPECT_NE(electors_.events().since(after).find(R"("leads":false,"fencing_token":null)"), std::string::npos);
}

TEST_F(Answers, EventsOfAnUnknownGroupAreNotFound) {
  const Candidate a = started("a");
  EXPECT_EQ(get("/events?group=nothere").status, 404);
  const Answer answer = get("/events?group=" + std::string{electors_.snapshots().front().group});
  EXPECT_TRUE(answer.streams);
  EXPECT_FALSE(answer.group.empty());
}

TEST_F(Answers, HeadAndOptionsOfEventsHaveNoBody) {
  const Answer answer = get("/events");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.type, "text/event-stream");
  EXPECT_TRUE(answer.streams);
  EXPECT_EQ(messageOf(answer, Method::get, 11, false).find("Content-Length"), std::string::npos);
  EXPECT_NE(messageOf(answer, Method::options, 11, true).find("Content-Length: 0\r\n"), std::string::npos);
}

}  // namespace
}  // namespace tenure::test
