// One endpoint of several that is no member, or one that fails: whose answers are believed, and who is asked next.
#include <atomic>
#include <fstream>
#include <future>
#include <mutex>

#include <gtest/gtest.h>

#include "lockcore/stores/etcd/src/errors.hpp"
#include "lockcore/stores/etcd/src/link/http_gateway.hpp"
#include "lockcore/stores/etcd/src/link/member_link.hpp"
#include "net/stream_calls.hpp"
#include "support/temp_dir.hpp"

namespace tenure::etcd_store {
namespace {

using namespace std::chrono_literals;
using test::Peer;
using test::TestServer;
using Repeat = Gateway::Repeat;

const std::string header = R"("header":{"cluster_id":"11","member_id":"1","revision":"7","raft_term":"2"})";
const std::string result = "{" + header + "}";

std::string error(int code, const std::string& words) {
  return R"({"error":")" + words + R"(","code":)" + std::to_string(code) + R"(,"message":")" + words + "\"}";
}

/// Answers every request alike; a script may look at it first.
class Fake {
 public:
  using Answer = std::pair<int, std::string>;
  explicit Fake(Answer answer) : Fake{[answer = std::move(answer)](const std::string&) { return answer; }} {}
  explicit Fake(std::function<Answer(const std::string& request)> answer) : answer_{std::move(answer)} {}

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  void serve(Peer& peer) {
    for (std::string request = peer.readRequest(); !request.empty(); request = peer.readRequest()) {
      ++asked_;
      const auto [status, body] = answer_(request);
      const std::string head = "HTTP/1.1 " + std::to_string(status) + " x\r\nContent-Length: ";
      if (!peer.write(head + std::to_string(body.size()) + "\r\n\r\n" + body)) return;
    }
  }

  std::function<Answer(const std::string&)> answer_;
  std::atomic<int> asked_{0};
  TestServer server_{[this](Peer& peer) { serve(peer); }};
};

Outcome ask(Gateway& gateway, Repeat repeat = Repeat::yes, std::chrono::nanoseconds timeout = 30s) {
  std::promise<Outcome> promise;
  gateway.call("/v3/kv/txn", "{}", timeout, repeat, [&](Outcome outcome) { promise.set_value(std::move(outcome)); });
  return promise.get_future().get();
}

std::optional<Fault> faultOf(const Outcome& outcome) {
  static const std::string where = "etcd";
  return faultIn({where, "renewing"}, outcome);
}

/// What stands in a member's place, or a failing member of its own.
std::vector<Fake::Answer> badAnswers() {
  std::vector<Fake::Answer> all;
  for (const int status : {201, 204, 307, 400, 401, 403, 404, 408, 413, 418, 421, 429, 500, 501, 502, 503}) {
    all.emplace_back(status, status == 204 ? "" : "<html>no</html>");
  }
  for (const std::string& body :
       {std::string{"<html>please log in</html>"}, std::string{}, std::string{"{}"}, std::string{R"({"ok":true})"},
        std::string{R"({"header":{}})"}, std::string{R"({"header":{"cluster_id":11}})"}, std::string{"[]"},
        "x" + result, R"({"page":")" + header + "\"}"}) {
    all.emplace_back(200, body);
  }
  all.emplace_back(404, error(5, "Not Found"));                         // another server with a gateway
  all.emplace_back(501, error(12, "unknown service etcdserverpb.KV"));  // the same
  all.emplace_back(401, error(16, "etcdserver: invalid auth token"));   // another cluster, which has users
  all.emplace_back(403, error(7, "etcdserver: permission denied"));
  all.emplace_back(400, error(3, "etcdserver: user name is empty"));
  all.emplace_back(429, error(8, "etcdserver: too many requests"));  // a member that lags
  all.emplace_back(500, error(15, "etcdserver: corrupt cluster"));
  all.emplace_back(503, error(14, "etcdserver: rpc not supported for learner"));
  return all;
}

TEST(EtcdBadMember, oneOfThreeCostsNoCall) {
  for (const auto& answer : badAnswers()) {
    const Fake bad{answer}, good{{200, result}}, third{{200, result}};
    const auto gateway = makeHttpGateway({.endpoints = {bad.url(), good.url(), third.url()}}, {});
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i) {
      const auto outcome = ask(*gateway);
      ASSERT_TRUE(outcome) << answer.first << answer.second;
      EXPECT_EQ(outcome->body, result) << answer.first << answer.second;
      EXPECT_EQ(outcome->member, good.url());
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, 5s) << "no share of the call's time is waited for";
    EXPECT_EQ(bad.asked(), 1) << "the member that answered comes first: " << answer.first << answer.second;
    EXPECT_EQ(third.asked(), 0);
  }
}

TEST(EtcdBadMember, oneThatComesToStandInAMembersPlaceWhileItIsAskedFirst) {
  std::atomic<bool> replaced{false};
  const Fake first{[&](const std::string&) { return replaced ? Fake::Answer{404, "no"} : Fake::Answer{200, result}; }};
  const Fake second{{200, result}};
  const auto gateway = makeHttpGateway({.endpoints = {first.url(), second.url()}}, {});
  EXPECT_EQ(ask(*gateway)->member, first.url());
  replaced = true;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(*gateway)->member, second.url());
  EXPECT_EQ(first.asked(), 2);
}

/// What is strange may have been passed on to a member. An error of etcd's says that this request was refused.
TEST(EtcdBadMember, whatMayHaveBeenPassedOnCountsAsCarriedOutPerhaps) {
  const Fake good{{200, result}};
  for (const auto& [answer, mayBe] : std::vector<std::pair<Fake::Answer, bool>>{{{404, "<html>"}, true},
                                                                                {{200, "<html>"}, true},
                                                                                {{403, "{}"}, true},
                                                                                {{500, error(2, "x")}, true},
                                                                                {{503, error(14, "x")}, true},
                                                                                {{403, error(7, "x")}, false},
                                                                                {{404, error(5, "x")}, false}}) {
    const Fake bad{answer};
    const auto both = makeHttpGateway({.endpoints = {bad.url(), good.url()}}, {});
    EXPECT_EQ(ask(*both)->copiesOut, mayBe) << answer.first << answer.second;
    const auto alone = makeHttpGateway({.endpoints = {bad.url()}}, {});
    for (const auto repeat : {Repeat::yes, Repeat::no}) {
      const auto fault = faultOf(ask(*alone, repeat));
      ASSERT_TRUE(fault) << answer.first << answer.second;
      EXPECT_EQ(fault->maybeApplied, mayBe) << answer.first << answer.second;
    }
  }
}

/// A store that believed it would tell a candidate that it leads.
TEST(EtcdBadMember, whatNamesNoClusterIsNoResultWhateverItSays) {
  const std::string won = R"({"header":{"revision":"11"},"succeeded":true,"responses":[]})";
  std::atomic<bool> replaced{false};
  const Fake fake{[&](const std::string&) { return Fake::Answer{200, replaced ? won : result}; }};
  for (const bool known : {false, true}) {
    for (const auto repeat : {Repeat::yes, Repeat::no}) {
      const auto gateway = makeHttpGateway({.endpoints = {fake.url()}}, {});
      replaced = false;
      if (known) {
        EXPECT_TRUE(ask(*gateway));
      }
      replaced = true;
      const auto outcome = ask(*gateway, repeat);
      ASSERT_FALSE(outcome) << outcome->body;
      EXPECT_EQ(outcome.error().error.errorClass, ErrorClass::transient);
      EXPECT_TRUE(outcome.error().maybeSent);
      EXPECT_NE(outcome.error().error.message.find("names no cluster"), std::string::npos);
    }
  }
}

/// A write that no revision guards is not sent twice, whatever the first answer was. The next one goes elsewhere.
TEST(EtcdBadMember, whatMustNotBeRepeatedIsNotRepeated) {
  for (const auto& answer : badAnswers()) {
    const Fake bad{answer}, good{{200, result}};
    const auto gateway = makeHttpGateway({.endpoints = {bad.url(), good.url()}}, {});
    const auto outcome = ask(*gateway, Repeat::no);
    ASSERT_EQ(outcome.has_value(), answer.first != 200);
    if (outcome) {
      EXPECT_EQ(outcome->body, answer.second);
    }
    EXPECT_EQ(good.asked(), 0);
    EXPECT_EQ(ask(*gateway, Repeat::no)->member, good.url());
  }
}

TEST(EtcdBadMember, whatIsToldIfNobodyHasAResult) {
  const std::string noAnswer = "http://127.0.0.1:" + std::to_string(test::closedPort());
  const auto told = [&](std::vector<Fake::Answer> answers, bool oneIsSilent) {
    std::vector<std::unique_ptr<Fake>> fakes;
    EtcdStoreOptions options{.endpoints = {}};
    if (oneIsSilent) options.endpoints.push_back(noAnswer);
    for (Fake::Answer& one : answers) {
      fakes.push_back(std::make_unique<Fake>(std::move(one)));
      options.endpoints.push_back(fakes.back()->url());
    }
    const auto outcome = ask(*makeHttpGateway(options, {}));
    for (const auto& fake : fakes) EXPECT_EQ(fake->asked(), 1) << "each member is asked once";
    return faultOf(outcome).value();
  };
  const Fake::Answer strange{404, "<html>"}, refused{403, error(7, "denied")}, unable{503, error(14, "no leader")};
  const Fake::Answer login{200, "<html>please log in</html>"};
  const Fake::Answer commonName{400, "CommonName of client sending a request against gateway will be ignored"};
  EXPECT_EQ(told({refused, refused, refused}, false).error.errorClass, ErrorClass::credentials);
  EXPECT_FALSE(told({refused, refused, refused}, false).maybeApplied);
  EXPECT_EQ(told({strange, refused}, true).error.errorClass, ErrorClass::credentials)
      << "an answer of etcd's says more";
  EXPECT_TRUE(told({strange, refused}, true).maybeApplied);
  EXPECT_EQ(told({unable, refused, strange}, false).error.errorClass, ErrorClass::transient) << "it passes";
  EXPECT_EQ(told({strange, strange}, false).error.errorClass, ErrorClass::misconfigured);
  EXPECT_EQ(told({login, refused}, false).error.errorClass, ErrorClass::credentials);
  EXPECT_TRUE(told({login, refused}, false).maybeApplied);
  EXPECT_EQ(told({strange}, true).error.errorClass, ErrorClass::transient) << "the other one may come back";
  EXPECT_NE(told({strange}, true).error.message.find("status 404, which is not etcd's answer"), std::string::npos);
  EXPECT_NE(told({commonName}, false).error.message.find("must have no common name"), std::string::npos);
}

/// Wrong rights are told soon, also while a member is down.
TEST(EtcdBadMember, whoRefusesIsNotKeptWaitingForAMemberThatIsSilent) {
  const Fake refuses{{403, error(7, "denied")}}, too{{403, error(7, "denied")}};
  const TestServer silent{[](Peer& peer) { peer.waitForEnd(); }};
  const std::string down = "http://127.0.0.1:" + std::to_string(silent.port());
  const auto gateway = makeHttpGateway({.endpoints = {refuses.url(), too.url(), down}}, {});
  const auto start = std::chrono::steady_clock::now();
  const auto fault = faultOf(ask(*gateway, Repeat::yes, 9s));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 7s) << "a third of the time";
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->error.errorClass, ErrorClass::credentials);
  EXPECT_TRUE(fault->maybeApplied) << "the silent one may have carried it out";
}

TEST(EtcdBadMember, anotherClusterIsNotBelievedWhateverItAnswers) {
  std::string other = result;
  other.replace(other.find("11"), 2, "12");
  const Fake ours{{200, result}};
  const Fake::Answer answers[]{{200, other}, {401, error(16, "invalid auth token")}, {403, error(7, "denied")}};
  for (const auto& answer : answers) {
    std::atomic<bool> replaced{false};
    const Fake moved{[&](const std::string&) { return replaced ? answer : Fake::Answer{200, result}; }};
    const auto gateway = makeHttpGateway({.endpoints = {moved.url(), ours.url()}}, {});
    EXPECT_EQ(ask(*gateway)->member, moved.url());
    replaced = true;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(*gateway)->body, result) << answer.first;
  }
}

TEST(EtcdBadMember, aStreamOfSomethingElseGoesToTheNextMember) {
  for (const std::string& line : {std::string{"<html>please log in</html>\n"}, std::string{"{}\n"}}) {
    const Fake bad{{200, line}};
    const Fake good{{200, R"({"result":{)" + header + R"(,"created":true}})" + "\n"}};
    const auto gateway = makeHttpGateway({.endpoints = {bad.url(), good.url()}}, {});
    for (const bool isNext : {false, true}) {
      std::promise<std::string> lines;
      std::atomic<bool> told{false};
      const auto stream = gateway->stream("/v3/watch", "{}", 10s,
                                          {[&](std::string_view text) {
                                             if (!told.exchange(true)) lines.set_value(std::string{text});
                                           },
                                           [](const std::string&) {}});
      const std::string heard = lines.get_future().get();
      EXPECT_EQ(heard.find("created") != std::string::npos, isNext) << heard;
    }
  }
}

/// Where a heartbeat takes longer than a stream may be silent, every stream ends so. Its member works.
TEST(EtcdBadMember, aStreamOnWhichNothingHappensSaysNothingAgainstItsMember) {
  for (const bool accepts : {true, false}) {
    const TestServer first{[&](Peer& peer) {
      for (std::string request = peer.readRequest(); !request.empty(); request = peer.readRequest()) {
        const bool watches = request.find("/v3/watch") != std::string::npos;
        if (!watches && !peer.reply(result)) return;
        if (!watches) continue;
        if (accepts)
          peer.write(test::chunkedHead + test::chunk(R"({"result":{)" + header +
                                                     R"(,"created":true}})"
                                                     "\n"));
        return peer.waitForEnd();
      }
    }};
    const Fake second{{200, result}};
    const std::string url = "http://127.0.0.1:" + std::to_string(first.port());
    const auto gateway = makeHttpGateway({.endpoints = {url, second.url()}}, {});
    std::promise<std::string> end;
    const auto stream = gateway->stream("/v3/watch", "{}", 1s,
                                        {[](std::string_view) {}, [&](const std::string& why) { end.set_value(why); }});
    const std::string why = end.get_future().get();
    EXPECT_EQ(ask(*gateway)->member, accepts ? url : second.url()) << why;
  }
}

TEST(EtcdBadMember, theHeaderProvesWithAndWithoutWhiteSpace) {
  EXPECT_EQ(clusterIn(result), 11U);
  EXPECT_EQ(clusterIn(R"({"result": {"header": {"cluster_id": "18446744073709551615", "x":1}}})"),
            18446744073709551615U);
  EXPECT_EQ(clusterIn(" {\n \"header\" : {\"cluster_id\":\"5\"}}"), 5U);
  for (const char* text :
       {"", "{", "{}", R"({"header":{"cluster_id":"5)", R"({"header":{"cluster_id":"-5"}})",
        R"({"header":{"cluster_id":"18446744073709551616"}})", R"({"kvs":[{"header":{"cluster_id":"5"}}]})"}) {
    EXPECT_EQ(clusterIn(text), std::nullopt) << text;
  }
}

/// A cluster with tokens: those that the script takes for old are refused as it says.
class OldTokens : public testing::Test {
 protected:
  OldTokens() { std::ofstream{password_} << "secret\n"; }

  Fake::Answer answerTo(const std::string& request) {
    const std::lock_guard lock{mutex_};
    if (request.find("/v3/auth/authenticate") != std::string::npos) {
      ++authentications_;
      return {200, "{" + header + R"(,"token":"t)" + std::to_string(authentications_) + "\"}"};
    }
    const bool isOld = request.find("Authorization: t1\r\n") != std::string::npos;
    return isOld ? rejection_ : Fake::Answer{200, result};
  }

  [[nodiscard]] std::shared_ptr<Gateway> gateway() const {
    return makeHttpGateway({.endpoints = {member_.url()}, .user = "tenure", .passwordFile = password_}, {});
  }

  const test::TempDir directory_{};
  const std::string password_{directory_.file("password")};
  std::mutex mutex_{};
  int authentications_{0};
  Fake::Answer rejection_{};
  const Fake member_{[this](const std::string& request) { return answerTo(request); }};
};

const std::string oldRevision = "auth: revision in header is old";

TEST_F(OldTokens, provablyRefusedUnreadIsSentAgainWithANewToken) {
  for (const auto& [status, body] :
       std::vector<Fake::Answer>{{500, error(2, oldRevision)},
                                 {400, error(3, "etcdserver: revision of auth store is old")},
                                 {401, error(16, "etcdserver: invalid auth token")},
                                 {500, error(16, "auth: invalid auth token")}}) {
    rejection_ = {status, body};
    for (const auto repeat : {Repeat::no, Repeat::yes}) {
      authentications_ = 0;
      const auto outcome = ask(*gateway(), repeat);
      ASSERT_TRUE(outcome);
      EXPECT_EQ(outcome->body, result) << body;
      EXPECT_FALSE(outcome->copiesOut) << body;
      EXPECT_EQ(authentications_, 2) << body;
    }
  }
}

/// Any other 500 may be the answer to a write that was carried out.
TEST_F(OldTokens, nothingElseCountsAsRefusedUnread) {
  for (const auto& [status, body] : std::vector<Fake::Answer>{{500, error(2, oldRevision + "er")},
                                                              {500, error(2, "x " + oldRevision)},
                                                              {500, error(13, oldRevision)},
                                                              {503, error(2, oldRevision)},
                                                              {500, oldRevision},
                                                              {500, error(2, "etcdserver: request timed out")},
                                                              {401, "<html>log in</html>"}}) {
    rejection_ = {status, body};
    authentications_ = 0;
    const auto fault = faultOf(ask(*gateway(), Repeat::no));
    ASSERT_TRUE(fault) << body;
    EXPECT_TRUE(fault->maybeApplied) << body;
    EXPECT_EQ(authentications_, 1) << body;
  }
}

/// A member whose tokens have another key than the others' refuses every token.
TEST_F(OldTokens, oneMemberThatTakesNoTokenIsLeft) {
  const Fake strict{[this](const std::string& request) {
    const bool asks = request.find("/v3/auth/authenticate") != std::string::npos;
    return asks ? answerTo(request) : Fake::Answer{401, error(16, "etcdserver: invalid auth token")};
  }};
  rejection_ = {200, result};
  const auto gateway =
      makeHttpGateway({.endpoints = {strict.url(), member_.url()}, .user = "tenure", .passwordFile = password_}, {});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(*gateway)->member, member_.url());
}

}  // namespace
}  // namespace tenure::etcd_store
