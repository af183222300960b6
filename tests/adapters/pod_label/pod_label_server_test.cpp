// The label over a real API server: who has it, and until when. Pods are plain objects there, which nobody runs.
#include <atomic>
#include <future>
#include <set>
#include <stdexcept>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <tenure/adapters/pod_label.hpp>

#include "adapters/pod_label/src/pod_keeper.hpp"
#include "kubernetes/api_hand.hpp"
#include "lockcore/kubernetes/http_gateway.hpp"
#include "support/eventually.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using kubernetes_store::Outcome;
using kubernetes_store::Request;
using pod_label::PodKeeper;
using Names = std::set<std::string>;

constexpr Eventually eventually{20s, 0s};

/// In a namespace of its own, with two pods of one group and one of another.
class PodLabelServer : public testing::Test {
 protected:
  PodLabelServer() {
    for (const char* name : {"a", "b"}) makePod(name, "first");
    makePod("c", "second");
  }

  void makePod(const std::string& name, const std::string& app) const {
    const auto reply =
        hand_.ask("POST", "/api/v1/namespaces/" + namespace_ + "/pods",
                  R"({"metadata":{"name":")" + name + R"(","labels":{"app":")" + app +
                      R"("}},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"}]}})");
    if (reply.status != 201) throw std::runtime_error{reply.body};
  }

  [[nodiscard]] PodLabelOptions optionsOf(const std::string& pod, const std::string& app = "first") const {
    return {.cluster = adminOptions(namespace_), .pod = pod, .selector = "app=" + app, .lookEvery = 200ms};
  }
  [[nodiscard]] FencedTerm term(std::uint64_t token, std::function<bool()> isValid = {}) const {
    return {{"lease", FencingToken{token}, "me"}, std::move(isValid), {}};
  }

  [[nodiscard]] boost::json::array labelled() const {
    const auto reply =
        hand_.ask("GET", "/api/v1/namespaces/" + namespace_ + "/pods?labelSelector=tenure.dev%2Frole%3Dleader");
    return boost::json::parse(reply.body).at("items").get_array();
  }
  [[nodiscard]] Names leaders() const {
    Names names;
    for (const auto& pod : labelled()) names.emplace(pod.at("metadata").at("name").as_string().c_str());
    return names;
  }
  [[nodiscard]] bool await(const Names& wanted) const {
    return eventually([&] { return leaders() == wanted; });
  }
  void label(const std::string& pod, const std::string& token) const {
    const auto reply = answerOf(
        {"PATCH", "/api/v1/namespaces/" + namespace_ + "/pods/" + pod,
         R"({"metadata":{"labels":{"tenure.dev/role":"leader"},"annotations":{"tenure.dev/token":")" + token + "\"}}}",
         false, "application/merge-patch+json"});
    ASSERT_EQ(reply->status, 200) << reply->body;
  }

  [[nodiscard]] Outcome answerOf(const Request& request) const {
    std::promise<Outcome> answer;
    gateway_->call(request, 10s, [&](Outcome outcome) { answer.set_value(std::move(outcome)); });
    return answer.get_future().get();
  }
  [[nodiscard]] PodKeeper keeperOf(const std::string& pod, PodKeeper::Ask ask) const {
    return {{"here", namespace_, pod, "app=first"}, std::move(ask)};
  }

  const std::string namespace_ = ApiHand::freshNamespace() + "-pods";
  const ApiHand hand_{namespace_};
  const std::shared_ptr<kubernetes_store::Gateway> gateway_ =
      kubernetes_store::makeHttpGateway(adminOptions(namespace_));
};

TEST_F(PodLabelServer, theElectedPodHasTheLabelUntilItsTermEnds) {
  label("b", "6");
  PodLabel pod{optionsOf("a")};
  std::stop_source stop;
  pod.elected(term(7), stop.get_token());
  ASSERT_TRUE(await({"a"}));
  EXPECT_EQ(labelled().at(0).at("metadata").at("annotations").at("tenure.dev/token").as_string(), "7");
  stop.request_stop();
  EXPECT_TRUE(await({}));
}

TEST_F(PodLabelServer, whatSomebodyElseWritesIsHealedAtTheNextLook) {
  PodLabel pod{optionsOf("a")};
  pod.elected(term(7), {});
  ASSERT_TRUE(await({"a"}));
  label("b", "6");
  EXPECT_TRUE(await({"a"}));
}

TEST_F(PodLabelServer, aTermThatIsNotValidGivesTheLabelUpByItself) {
  std::atomic<bool> valid{true};
  PodLabel pod{optionsOf("a")};
  pod.elected(term(7, [&] { return valid.load(); }), {});
  ASSERT_TRUE(await({"a"}));
  valid = false;
  EXPECT_TRUE(await({}));
}

TEST_F(PodLabelServer, theEndOfTheProgramTakesTheLabelAway) {
  {
    PodLabel pod{optionsOf("a")};
    pod.elected(term(7), {});
    ASSERT_TRUE(await({"a"}));
  }
  EXPECT_EQ(leaders(), Names{});
}

TEST_F(PodLabelServer, groupsWithOtherSelectorsDoNotDisturbEachOther) {
  PodLabel first{optionsOf("a")};
  PodLabel second{optionsOf("c", "second")};
  first.elected(term(7), {});
  second.elected(term(3), {});
  ASSERT_TRUE(await({"a", "c"}));
  PodLabel next{optionsOf("b")};
  next.elected(term(8), {});
  EXPECT_TRUE(await({"b", "c"}));
}

/// The server itself refuses it, because the resourceVersion is another one by now.
TEST_F(PodLabelServer, aWriteAfterAStaleLookIsRefused) {
  label("a", "6");
  bool late = true;
  const PodKeeper former = keeperOf("a", [&](const Request& request) {
    if (request.method == "PATCH" && std::exchange(late, false)) {
      EXPECT_FALSE(keeperOf("b", [&](const Request& r) {
                     return answerOf(r);
                   }).keep(FencingToken{8}, [] {
                       return true;
                     }).error);
    }
    return answerOf(request);
  });
  const auto report = former.keep(FencingToken{7}, [] { return true; });
  ASSERT_TRUE(report.error);
  EXPECT_NE(report.error->message.find("is marked with fencing token 8"), std::string::npos) << report.error->message;
  EXPECT_EQ(leaders(), Names{"b"});
}

TEST_F(PodLabelServer, theServerTellsTheRights) {
  EXPECT_TRUE(PodLabel{optionsOf("a")}.checkRights().has_value());
  PodLabelOptions options = optionsOf("a");
  options.cluster.token = "unknown";
  EXPECT_EQ(PodLabel{options}.checkRights().error().errorClass, ErrorClass::credentials);
}

}  // namespace
}  // namespace tenure::test
