// Which pods a leader changes, what it writes, and what it reads.
#include "adapters/pod_label/src/pods.hpp"

#include <gtest/gtest.h>

#include <tenure/adapters/pod_label.hpp>

namespace tenure::pod_label {
namespace {

using Changes = std::vector<Change>;

constexpr FencingToken mine{7};
const Pod own{"a", "1", false, {}};

TEST(Pods, theOwnOneGetsTheLabel) { EXPECT_EQ(planFor(own, {}, mine).changes, (Changes{{"a", "1", true}})); }

TEST(Pods, theOthersLoseItFirst) {
  const std::vector<Pod> labelled{{"b", "2", true, FencingToken{6}}, {"c", "3", true, {}}};
  EXPECT_EQ(planFor(own, labelled, mine).changes, (Changes{{"b", "2", false}, {"c", "3", false}, {"a", "1", true}}));
}

TEST(Pods, nothingIsWrittenWhereAllIsAsItShouldBe) {
  const Pod leader{"a", "1", true, mine};
  const Plan plan = planFor(leader, {leader}, mine);
  EXPECT_FALSE(plan.later);
  EXPECT_EQ(plan.changes, Changes{});
}

TEST(Pods, theTokenOfAnEarlierTermIsReplaced) {
  const Pod before{"a", "1", true, FencingToken{5}};
  EXPECT_EQ(planFor(before, {before}, mine).changes, (Changes{{"a", "1", true}}));
}

TEST(Pods, anotherPodWithTheSameTokenLosesTheLabel) {
  const Pod leader{"a", "1", true, mine};
  EXPECT_EQ(planFor(leader, {leader, {"b", "2", true, mine}}, mine).changes, (Changes{{"b", "2", false}}));
}

TEST(Pods, aLaterTermIsNotTouched) {
  const Pod later{"b", "2", true, FencingToken{8}};
  const Plan plan = planFor(own, {{"c", "3", true, FencingToken{1}}, later}, mine);
  EXPECT_EQ(plan.later, later);
  EXPECT_EQ(plan.changes, Changes{});
  const Pod marked{"a", "1", false, FencingToken{8}};
  EXPECT_EQ(planFor(marked, {}, mine).later, marked) << "a later term took the label from the own pod";
}

TEST(Pods, atTheEndOfATermTheOwnOneLosesTheLabel) {
  EXPECT_EQ(withdrawalFor({"a", "1", true, mine}, mine), (Change{"a", "1", false}));
  EXPECT_EQ(withdrawalFor({"a", "1", true, {}}, mine), (Change{"a", "1", false}));
  EXPECT_EQ(withdrawalFor(own, mine), std::nullopt) << "it has none";
  EXPECT_EQ(withdrawalFor({"a", "1", true, FencingToken{8}}, mine), std::nullopt) << "of a later term of this process";
}

TEST(Pods, aWriteNamesWhatWasSeenAndTheToken) {
  const PodRequests requests{"jobs"};
  const auto set = requests.patch({"a", "12", true}, mine);
  EXPECT_EQ(set.method, "PATCH");
  EXPECT_EQ(set.target, "/api/v1/namespaces/jobs/pods/a");
  EXPECT_EQ(set.contentType, "application/merge-patch+json");
  EXPECT_EQ(set.body, R"({"metadata":{"resourceVersion":"12","labels":{"tenure.dev/role":"leader"},)"
                      R"("annotations":{"tenure.dev/token":"7"}}})");
  EXPECT_EQ(requests.patch({"b", "12", false}, mine).body,
            R"({"metadata":{"resourceVersion":"12","labels":{"tenure.dev/role":null},)"
            R"("annotations":{"tenure.dev/token":"7"}}})");
}

TEST(Pods, aLookAsksForThoseOfTheSelectorWithTheLabel) {
  const PodRequests requests{"jobs"};
  EXPECT_EQ(requests.labelled("app=a,tier!=b").target,
            "/api/v1/namespaces/jobs/pods?labelSelector=app%3Da%2Ctier%21%3Db%2Ctenure.dev%2Frole%3Dleader");
  EXPECT_EQ(requests.get("a").target, "/api/v1/namespaces/jobs/pods/a");
}

std::string podText(const std::string& more) {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"5")" + more + "}}";
}

std::string marked(const std::string& role, const std::string& token) {
  return podText(R"(,"labels":{"tenure.dev/role":")" + role + R"("},"annotations":{"tenure.dev/token":")" + token +
                 "\"}");
}

TEST(Pods, areReadFromAnswers) {
  EXPECT_EQ(podFrom(podText(""), "a").value(), (Pod{"a", "5", false, {}}));
  EXPECT_EQ(podFrom(marked("leader", "9"), "a").value(), (Pod{"a", "5", true, FencingToken{9}}));
  EXPECT_FALSE(podFrom(marked("standby", "9"), "a")->leads);
  for (const char* token : {"", "x", "-1", "9007199254740992", "99999999999999999999"}) {
    EXPECT_TRUE(podFrom(marked("leader", token), "a")->token.isNone()) << token;
  }
  EXPECT_TRUE(podFrom(podText(""), "b").has_error()) << "another one";
  for (const char* body : {"", "{}", "[]", R"({"kind":"Pod"})", R"({"kind":"Pod","metadata":{"name":"a"}})",
                           R"({"kind":"Lease","metadata":{"name":"a","resourceVersion":"5"}})"}) {
    EXPECT_TRUE(podFrom(body, "a").has_error()) << body;
  }
}

TEST(Pods, areReadFromAListing) {
  const auto listing = [](const std::string& items) { return R"({"kind":"PodList","items":)" + items + "}"; };
  const auto pods = podsFrom(listing("[" + marked("leader", "9") + "]"));
  EXPECT_EQ(pods.value(), (std::vector<Pod>{{"a", "5", true, FencingToken{9}}}));
  EXPECT_TRUE(podsFrom(listing("[]"))->empty());
  EXPECT_TRUE(podsFrom(listing("null"))->empty());
  for (const std::string& body : {std::string{}, std::string{"{}"}, listing("7"), listing("[{}]"), listing("[7]"),
                                  std::string{R"({"kind":"LeaseList","items":[]})"}}) {
    EXPECT_TRUE(podsFrom(body).has_error()) << body;
  }
}

TEST(Pods, ofAReplyWithVeryManyValuesAreNotRead) {
  std::string body = R"({"kind":"PodList","items":[],"more":[0)";
  for (int i = 1; i < 600'000; ++i) body += ",0";
  EXPECT_TRUE(podsFrom(body + "]}").has_error());
}

std::string faultsIn(const PodLabelOptions& options) {
  std::string out;
  for (const OptionFault& fault : faultsOf(options)) out += fault.field + " " + fault.message + "\n";
  return out;
}

TEST(PodLabelOptions, areChecked) {
  PodLabelOptions options{.pod = "scheduler-0", .selector = "app=scheduler"};
  EXPECT_EQ(faultsIn(options), "");
  options.cluster.server = "ftp://a";
  options.pod = "Scheduler_0";
  options.selector = "app";
  options.lookEvery = std::chrono::milliseconds{1};
  options.timeout = std::chrono::milliseconds{0};
  const std::string faults = faultsIn(options);
  for (const char* words :
       {"cluster.server ", "pod \"Scheduler_0\" is not a pod name", "selector \"app\" is not a selector by equality",
        "lookEvery must be 100 ms to 24 h", "timeout must be 10 ms to 1 h"}) {
    EXPECT_NE(faults.find(words), std::string::npos) << words << "\n" << faults;
  }
  EXPECT_THROW(PodLabel{options}, std::invalid_argument);
}

}  // namespace
}  // namespace tenure::pod_label
