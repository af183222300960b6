// A look and its writes, over pods in memory: races, rejections, and what is said of them.
#include "adapters/pod_label/src/pod_keeper.hpp"

#include <map>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "lockcore/kubernetes/requests.hpp"

namespace tenure::pod_label {
namespace {

using kubernetes_store::CallFault;
using kubernetes_store::Outcome;
using kubernetes_store::Reply;
using kubernetes_store::Request;

/// The pods of one namespace, all found by the selector but those that are hidden from it.
class PodsInMemory {
 public:
  struct Shown {
    bool leads{false};
    std::string token{};
    int revision{1};
    bool hidden{false};

    friend bool operator==(const Shown& a, const Shown& b) { return a.leads == b.leads && a.token == b.token; }
  };
  using Fault = std::function<std::optional<Outcome>(const Request&)>;

  std::map<std::string, Shown> pods{};
  /// Called before each request; an answer stands for the server's.
  Fault before = [](const Request&) { return std::nullopt; };
  std::vector<std::string> asked{};

  Outcome ask(const Request& request) {
    const std::string path = "/api/v1/namespaces/jobs/pods";
    asked.push_back(request.method + (request.target.starts_with(path + "?") ? "s" : ""));
    if (auto answer = before(request)) return *std::move(answer);
    if (request.target.starts_with(path + "?")) return listed();
    const auto found = pods.find(request.target.substr(path.size() + 1));
    if (found == pods.end()) return errorAnswer(404, "not found");
    if (request.method == "GET") return Reply{200, textOf(*found)};
    return patched(*found, boost::json::parse(request.body).at("metadata").get_object());
  }

  [[nodiscard]] static Outcome errorAnswer(int status, const std::string& message) {
    const std::string reason = message == "not found" ? R"(,"reason":"NotFound")" : "";
    return Reply{status, R"({"kind":"Status","status":"Failure","message":")" + message + '"' + reason + '}'};
  }

 private:
  static std::string textOf(const std::pair<const std::string, Shown>& pod) {
    boost::json::object metadata;
    metadata["name"] = pod.first;
    metadata["resourceVersion"] = std::to_string(pod.second.revision);
    if (pod.second.leads) metadata["labels"].emplace_object()["tenure.dev/role"] = "leader";
    if (!pod.second.token.empty()) metadata["annotations"].emplace_object()["tenure.dev/token"] = pod.second.token;
    boost::json::object whole;
    whole["kind"] = "Pod";
    whole["metadata"] = metadata;
    return boost::json::serialize(whole);
  }
  Outcome listed() const {
    std::string items;
    for (const auto& pod : pods) {
      if (pod.second.leads && !pod.second.hidden) items += (items.empty() ? "" : ",") + textOf(pod);
    }
    return Reply{200, R"({"kind":"PodList","items":[)" + items + "]}"};
  }
  static Outcome patched(std::pair<const std::string, Shown>& pod, const boost::json::object& metadata) {
    if (metadata.at("resourceVersion").as_string() != std::to_string(pod.second.revision))
      return errorAnswer(409, "the object has been modified");
    pod.second.leads = metadata.at("labels").at("tenure.dev/role").is_string();
    pod.second.token = metadata.at("annotations").at("tenure.dev/token").as_string().c_str();
    ++pod.second.revision;
    return Reply{200, textOf(pod)};
  }
};

class PodKeeperTest : public testing::Test {
 protected:
  using Pods = std::map<std::string, PodsInMemory::Shown>;

  PodKeeper keeperOf(const std::string& pod) {
    return {{"Kubernetes at https://server, namespace jobs", "jobs", pod, "app=a"},
            [this](const Request& request) { return server_.ask(request); }};
  }
  Report keep(const std::string& pod, std::uint64_t token) {
    return keeperOf(pod).keep(FencingToken{token}, [] { return true; });
  }
  /// The next PATCH, and then no more.
  void beforeThePatch(std::function<std::optional<Outcome>()> then) {
    server_.before = [this, then = std::move(then)](const Request& request) -> std::optional<Outcome> {
      if (request.method != "PATCH") return std::nullopt;
      const auto once = std::move(then);
      server_.before = [](const Request&) { return std::nullopt; };
      return once();
    };
  }
  void answer(const std::string& method, const Outcome& outcome) {
    server_.before = [method, outcome](const Request& request) -> std::optional<Outcome> {
      if (request.method == method) return outcome;
      return std::nullopt;
    };
  }
  static void expectError(const Report& report, const std::string& words) {
    ASSERT_TRUE(report.error) << "expected: " << words;
    EXPECT_NE(report.error->message.find(words), std::string::npos) << report.error->message;
  }

  PodsInMemory server_{{{"a", {}}, {"b", {}}, {"c", {}}}};
};

TEST_F(PodKeeperTest, theElectedPodHasTheLabelAndNoOtherOne) {
  server_.pods["b"] = {true, "6"};
  server_.pods["c"] = {true, ""};
  const Report report = keep("a", 7);
  EXPECT_FALSE(report.error);
  EXPECT_EQ(server_.pods, (Pods{{"a", {true, "7"}}, {"b", {false, "7"}}, {"c", {false, "7"}}}));
  EXPECT_EQ(report.done.size(), 3U);
}

TEST_F(PodKeeperTest, aLookAtWhatIsWellIsOneRequest) {
  static_cast<void>(keep("a", 7));
  server_.asked.clear();
  const Report report = keep("a", 7);
  EXPECT_TRUE(report.done.empty() && !report.error);
  EXPECT_EQ(server_.asked, std::vector<std::string>{"GETs"});
}

TEST_F(PodKeeperTest, aPodThatChangesMeanwhileIsLookedAtAgain) {
  beforeThePatch([this] {
    ++server_.pods["a"].revision;  // as the kubelet does
    return std::nullopt;
  });
  EXPECT_FALSE(keep("a", 7).error);
  EXPECT_EQ(server_.pods["a"], (PodsInMemory::Shown{true, "7"}));
}

TEST_F(PodKeeperTest, othersThatChangeAPodAllTheTimeAreTold) {
  answer("PATCH", PodsInMemory::errorAnswer(409, "the object has been modified"));
  const Report report = keep("a", 7);
  expectError(report, "others kept changing the pods");
  EXPECT_TRUE(mayPass(*report.error));
}

/// Both looked, then the later one wrote first.
TEST_F(PodKeeperTest, aFormerLeaderThatWasSeenDoesNotOverwriteItsSuccessor) {
  server_.pods["a"] = {true, "6"};
  beforeThePatch([this] {
    static_cast<void>(keep("b", 8));  // takes the label from a, and marks it
    return std::nullopt;
  });
  expectError(keep("a", 7), "is marked with fencing token 8, so the term with token 7 no longer leads");
  EXPECT_EQ(server_.pods, (Pods{{"a", {false, "8"}}, {"b", {true, "8"}}, {"c", {}}}));
}

/// The successor has not seen the pod of the former leader, which had no label then.
TEST_F(PodKeeperTest, aLateWriteOfAFormerLeaderIsHealedAtTheNextLook) {
  beforeThePatch([this] {
    static_cast<void>(keep("b", 8));
    return std::nullopt;
  });
  EXPECT_FALSE(keep("a", 7).error) << "nothing could hold the write up";
  EXPECT_TRUE(server_.pods["a"].leads);
  expectError(keep("a", 7), "pod b is marked with fencing token 8");
  EXPECT_TRUE(server_.pods["b"].leads);
  EXPECT_FALSE(keep("b", 8).error);
  EXPECT_EQ(server_.pods, (Pods{{"a", {false, "8"}}, {"b", {true, "8"}}, {"c", {}}}));
}

TEST_F(PodKeeperTest, aTermThatIsOverWritesNothingMore) {
  server_.pods["b"] = {true, "6"};
  int left = 1;
  const Report report = keeperOf("a").keep(FencingToken{7}, [&] { return left-- > 0; });
  EXPECT_FALSE(report.error);
  EXPECT_EQ(server_.pods, (Pods{{"a", {}}, {"b", {false, "7"}}, {"c", {}}}));
}

TEST_F(PodKeeperTest, aPodThatIsGoneHasNoLabel) {
  server_.pods["b"] = {true, "6"};
  beforeThePatch([this] {
    server_.pods.erase("b");
    return std::nullopt;
  });
  EXPECT_FALSE(keep("a", 7).error);
  EXPECT_EQ(server_.pods, (Pods{{"a", {true, "7"}}, {"c", {}}}));
}

TEST_F(PodKeeperTest, theOwnPodWaitsUntilTheOthersHaveLostTheLabel) {
  server_.pods["b"] = {true, "6"};
  for (const Outcome& answer : {PodsInMemory::errorAnswer(500, "etcd"), Outcome{Reply{200, "<html>welcome</html>"}}}) {
    beforeThePatch([&] { return answer; });
    const Report report = keep("a", 7);
    expectError(report, "removing the label from pod b: the ");
    EXPECT_EQ(server_.pods["a"], (PodsInMemory::Shown{})) << "a Service would have two";
  }
  EXPECT_FALSE(keep("a", 7).error);
  EXPECT_EQ(server_.pods, (Pods{{"a", {true, "7"}}, {"b", {false, "7"}}, {"c", {}}}));
}

TEST_F(PodKeeperTest, anotherPodThatChangesMeanwhileIsLookedAtAgainFirst) {
  server_.pods["b"] = {true, "6"};
  beforeThePatch([this] {
    EXPECT_FALSE(server_.pods["a"].leads);
    ++server_.pods["b"].revision;
    return std::nullopt;
  });
  EXPECT_FALSE(keep("a", 7).error);
  const std::vector<std::string> asked{"GETs", "GET", "PATCH", "GETs", "GET", "PATCH", "PATCH"};
  EXPECT_EQ(server_.asked, asked);
}

TEST_F(PodKeeperTest, aLastingRefusalForAnotherPodDoesNotKeepTheLabelFromTheOwnOne) {
  server_.pods["b"] = {true, "6"};
  beforeThePatch([] { return PodsInMemory::errorAnswer(403, "a webhook"); });
  expectError(keep("a", 7), "removing the label from pod b: the server answered 403: \"a webhook\"");
  EXPECT_EQ(server_.pods["a"], (PodsInMemory::Shown{true, "7"}));
}

TEST_F(PodKeeperTest, aMissingRightIsNamed) {
  const std::string where = "Kubernetes at https://server, namespace jobs: ";
  answer("PATCH", PodsInMemory::errorAnswer(403, "no"));
  expectError(keep("a", 7), where +
                                "labelling pod a: the server answered 403: \"no\". The right to patch pods is "
                                "missing. Bind a Role with the verbs get, list and patch on pods");
  answer("GET", PodsInMemory::errorAnswer(403, "no"));
  expectError(keep("a", 7), "The right to list pods is missing");
  expectError(keeperOf("a").withdraw(FencingToken{7}), "The right to get pods is missing");
}

TEST_F(PodKeeperTest, aPodThatIsNotThereIsTold) {
  expectError(keep("z", 7),
              "reading pod z: the server answered 404: \"not found\". Give the name of the pod in "
              "which this process runs");
}

TEST_F(PodKeeperTest, aSelectorThatDoesNotFindTheOwnPodIsTold) {
  server_.pods["a"].hidden = true;
  EXPECT_FALSE(keep("a", 7).error) << "the label is new";
  expectError(keep("a", 7), "the selector \"app=a\" does not match the pod of this process, a");
}

TEST_F(PodKeeperTest, anAnswerThatDoesNotComeIsTold) {
  answer("GET", CallFault{{ErrorClass::transient, "no answer in 5 s"}, true});
  expectError(keep("a", 7), "listing the pods with tenure.dev/role=leader: no answer in 5 s");
  answer("GET", Reply{200, "<html>"});
  expectError(keep("a", 7), "the answer is not a PodList");
}

TEST_F(PodKeeperTest, atTheEndOfATermTheLabelIsTakenFromTheOwnPod) {
  static_cast<void>(keep("a", 7));
  EXPECT_FALSE(keeperOf("a").withdraw(FencingToken{7}).error);
  EXPECT_EQ(server_.pods["a"], (PodsInMemory::Shown{false, "7"}));
  static_cast<void>(keep("a", 9));
  EXPECT_FALSE(keeperOf("a").withdraw(FencingToken{7}).error);
  EXPECT_TRUE(server_.pods["a"].leads) << "of a later term";
}

TEST_F(PodKeeperTest, theRightsAreAskedForInOneRequest) {
  const auto rights = [](const std::string& verbs) -> Outcome {
    return Reply{201, R"({"kind":"SelfSubjectRulesReview","status":{"incomplete":false,"resourceRules":[{"verbs":[)" +
                          verbs + R"(],"apiGroups":[""],"resources":["pods"]}]}})"};
  };
  answer("POST", rights(R"("get","list","patch")"));
  EXPECT_TRUE(keeperOf("a").checkRights().has_value());
  answer("POST", rights(R"("get")"));
  const auto missing = keeperOf("a").checkRights();
  ASSERT_TRUE(missing.has_error());
  EXPECT_NE(missing.error().message.find("the user may not list, patch pods there"), std::string::npos)
      << missing.error().message;
  answer("POST", PodsInMemory::errorAnswer(403, "no"));
  EXPECT_TRUE(keeperOf("a").checkRights().has_value()) << "the server does not tell";
  answer("POST", PodsInMemory::errorAnswer(500, "no"));
  EXPECT_TRUE(keeperOf("a").checkRights().has_error());
}

}  // namespace
}  // namespace tenure::pod_label
