// Answers as kube-apiserver 1.37 gave them, and answers that are none: these are never a success.
#include "lockcore/kubernetes/replies.hpp"

#include <gtest/gtest.h>

namespace tenure::kubernetes_store {
namespace {

const std::string shown =
    R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a","namespace":"tenure-test",)"
    R"("uid":"458164f8-9e03-4e39-8119-66bcf84d7e4d","resourceVersion":"221","creationTimestamp":"2026-11-26T08:01:36Z",)"
    R"("labels":{"app.kubernetes.io/managed-by":"tenure"},"annotations":{"tenure.dev/version":"v1"},"managedFields":)"
    R"([{"manager":"unknown","operation":"Update","fieldsV1":{"f:spec":{"f:holderIdentity":{}}}}]},"spec":)"
    R"({"holderIdentity":"me","leaseDurationSeconds":3,"acquireTime":"2026-11-26T08:00:00.123456Z",)"
    R"("renewTime":"2026-11-26T08:00:01.654321Z","leaseTransitions":1}})";

const std::string notFound =
    R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"leases.coordination.k8s.io )"
    R"(\"a\" not found","reason":"NotFound","details":{"name":"a","group":"coordination.k8s.io","kind":"leases"},)"
    R"("code":404})";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(KubernetesReplies, aLease) {
  const auto read = leaseFrom(shown, "a");
  ASSERT_TRUE(read.has_value()) << read.error().what;
  EXPECT_EQ(read->uid, "458164f8-9e03-4e39-8119-66bcf84d7e4d");
  EXPECT_EQ(read->revision, 221U);
  EXPECT_EQ(read->spec, (LeaseSpec{"me", 3, "2026-11-26T08:00:00.123456Z", "2026-11-26T08:00:01.654321Z", 1}));
  ASSERT_TRUE(read->hasAnnotation("tenure.dev/version"));
  EXPECT_FALSE(read->hasAnnotation("tenure.dev/token"));
  EXPECT_FALSE(read->whole.at("metadata").get_object().contains("managedFields")) << "the server keeps them by itself";
}

TEST(KubernetesReplies, aBareLease) {
  for (const std::string& spec :
       {std::string{R"("spec":{}})"}, std::string{R"("spec":null})"}, std::string{R"("other":1})"},
        std::string{R"("spec":{"holderIdentity":null,"renewTime":null,"leaseTransitions":null}})"}}) {
    const auto read = leaseFrom(
        R"({"kind":"Lease","metadata":{"name":"a","uid":"u","resourceVersion":"7","annotations":null},)" + spec, "a");
    ASSERT_TRUE(read.has_value()) << spec << read.error().what;
    EXPECT_EQ(read->spec, LeaseSpec{}) << spec;
    EXPECT_TRUE(read->spec.isBare());
  }
}

TEST(KubernetesReplies, whatIsNoLeaseIsNotUnderstood) {
  for (const std::string& body :
       {std::string{},
        std::string{"<html>ok</html>"},
        std::string{"[]"},
        std::string{"{}"},
        std::string{"null"},
        shown.substr(0, shown.size() - 1),
        shown + "}",
        notFound,
        changed(shown, R"("kind":"Lease")", R"("kind":"Pod")"),
        changed(shown, R"("kind":"Lease",)", ""),
        changed(shown, "coordination.k8s.io/v1\"", "coordination.k8s.io/v2\""),
        changed(shown, R"("name":"a")", R"("name":"b")"),
        changed(shown, R"("name":"a")", R"("name":7)"),
        changed(shown, R"("uid":"458164f8-9e03-4e39-8119-66bcf84d7e4d",)", ""),
        changed(shown, R"("resourceVersion":"221")", R"("resourceVersion":221)"),
        changed(shown, R"("resourceVersion":"221")", R"("resourceVersion":"abc")"),
        changed(shown, R"("resourceVersion":"221")", R"("resourceVersion":"0")"),
        changed(shown, R"("resourceVersion":"221")", R"("resourceVersion":"-1")"),
        changed(shown, R"("resourceVersion":"221")", R"("resourceVersion":"99999999999999999999")"),
        changed(shown, R"("tenure.dev/version":"v1")", R"("tenure.dev/version":1)"),
        changed(shown, R"({"tenure.dev/version":"v1"})", R"([])"),
        changed(shown, R"({"app.kubernetes.io/managed-by":"tenure"})", R"("x")"),
        changed(shown, R"("holderIdentity":"me")", R"("holderIdentity":7)"),
        changed(shown, R"("holderIdentity":"me")", R"("holderIdentity":{})"),
        changed(shown, R"("leaseDurationSeconds":3)", R"("leaseDurationSeconds":"3")"),
        changed(shown, R"("leaseDurationSeconds":3)", R"("leaseDurationSeconds":3.5)"),
        changed(shown, R"("leaseDurationSeconds":3)", R"("leaseDurationSeconds":0)"),
        changed(shown, R"("leaseDurationSeconds":3)", R"("leaseDurationSeconds":-3)"),
        changed(shown, R"("leaseDurationSeconds":3)", R"("leaseDurationSeconds":99999999999999999999)"),
        changed(shown, R"("leaseTransitions":1)", R"("leaseTransitions":-1)"),
        changed(shown, R"("leaseTransitions":1)", R"("leaseTransitions":[])"),
        changed(shown, R"("renewTime":"2026-11-26T08:00:01.654321Z")", R"("renewTime":7)"),
        changed(shown, R"("spec":{)", R"("spec":[],"other":{)")}) {
    EXPECT_TRUE(leaseFrom(body, "a").has_error()) << body;
  }
}

TEST(KubernetesReplies, onlyTheServerItselfSaysThatThereIsNone) {
  EXPECT_TRUE(saysAbsent({404, notFound}, "a"));
  EXPECT_FALSE(saysAbsent({404, notFound}, "b")) << "another Lease";
  EXPECT_FALSE(saysAbsent({200, notFound}, "a"));
  EXPECT_FALSE(saysAbsent({404, "404 page not found"}, "a"));
  EXPECT_FALSE(saysAbsent({404, ""}, "a"));
  EXPECT_FALSE(saysAbsent({404, changed(notFound, "\"leases\"", "\"namespaces\"")}, "a"));
  EXPECT_FALSE(saysAbsent({404, changed(notFound, "\"NotFound\"", "\"Gone\"")}, "a"));
  EXPECT_FALSE(saysAbsent({404, changed(notFound, "\"Failure\"", "\"Success\"")}, "a"));
}

TEST(KubernetesReplies, conflicts) {
  const std::string conflict = changed(notFound, "\"NotFound\"", "\"Conflict\"");
  EXPECT_TRUE(saysConflict({409, conflict}));
  EXPECT_TRUE(saysConflict({409, changed(notFound, "\"NotFound\"", "\"AlreadyExists\"")}));
  EXPECT_FALSE(saysConflict({409, notFound}));
  EXPECT_FALSE(saysConflict({409, ""}));
  EXPECT_FALSE(saysConflict({500, conflict}));
}

TEST(KubernetesReplies, statusesWithAndWithoutAKind) {
  const Status status = statusFrom(notFound);
  EXPECT_EQ(status.reason, "NotFound");
  EXPECT_EQ(status.kind, "leases");
  EXPECT_EQ(status.code, 404);
  const Status bare = statusFrom(
      R"({"metadata":{},"status":"Failure","message":"Timeout: it took too long","reason":"Timeout","code":504})");
  EXPECT_EQ(bare.message, "Timeout: it took too long");
  for (const char* body : {"", "ok", "[]", R"({"status":"Success","reason":"NotFound"})", R"({"status":{}})"}) {
    EXPECT_EQ(statusFrom(body).reason, "") << body;
  }
  EXPECT_EQ(statusFrom(R"({"status":"Failure","code":99999999999})").code, 999);
}

TEST(KubernetesReplies, pages) {
  const std::string item = changed(shown, R"("kind":"Lease","apiVersion":"coordination.k8s.io/v1",)", "");
  const std::string start = R"({"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":)";
  const auto page = pageFrom(start + R"({"resourceVersion":"292","continue":"eyJ2"},"items":[)" + item + "]}");
  ASSERT_TRUE(page.has_value()) << page.error().what;
  EXPECT_EQ(page->resourceVersion, "292");
  EXPECT_EQ(page->next, "eyJ2");
  ASSERT_EQ(page->items.size(), 1U);
  EXPECT_EQ(page->items[0].spec.holder, "me");
  for (const std::string& items :
       {std::string{R"("items":[]})"}, std::string{R"("items":null})"}, std::string{R"("x":1})"}}) {
    const auto empty = pageFrom(start + R"({"resourceVersion":"292"},)" + items);
    ASSERT_TRUE(empty.has_value()) << items;
    EXPECT_TRUE(empty->items.empty() && empty->next.empty());
  }
  for (const std::string& body :
       {std::string{"{}"}, shown, start + R"({"resourceVersion":"292"},"items":{}})",
        start + R"({"resourceVersion":"292"},"items":[7]})", start + R"({"resourceVersion":"292"},"items":[{}]})",
        start + R"({"continue":"x"},"items":[]})", start + R"({"resourceVersion":"x"},"items":[]})", start + "7}"}) {
    EXPECT_TRUE(pageFrom(body).has_error()) << body;
  }
}

/// A text of two bytes for a value may cost fifty in memory.
TEST(KubernetesReplies, aReplyOfVeryManyValuesIsNotTakenApart) {
  const auto pageWith = [](std::size_t values) {
    std::string body =
        R"({"kind":"LeaseList","metadata":{"resourceVersion":"1","x":"[[[\",\",\",\\"},"items":[],"more":[0)";
    for (std::size_t i = 1; i < values; ++i) body += ",0";
    return pageFrom(body + "]}");
  };
  EXPECT_TRUE(pageWith(400'000).has_value()) << pageWith(400'000).error().what;
  EXPECT_TRUE(pageWith(600'000).has_error());
}

std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}";
}

TEST(KubernetesReplies, linesOfAWatch) {
  using Kind = WatchEvent::Kind;
  for (const auto& [type, kind] :
       {std::pair{"ADDED", Kind::changed}, {"MODIFIED", Kind::changed}, {"DELETED", Kind::deleted}}) {
    const auto read = eventFrom(event(type, shown));
    ASSERT_TRUE(read.has_value()) << type;
    EXPECT_EQ(read->kind, kind);
    EXPECT_EQ(read->resourceVersion, "221");
    EXPECT_EQ(read->object->name, "a");
  }
  const auto bookmark =
      eventFrom(event("BOOKMARK", R"({"kind":"Lease","metadata":{"resourceVersion":"278"},"spec":{}})"));
  ASSERT_TRUE(bookmark.has_value());
  EXPECT_EQ(bookmark->resourceVersion, "278");
  EXPECT_FALSE(bookmark->object);
  const auto failed = eventFrom(event("ERROR", changed(notFound, "404}", "410}")));
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->kind, Kind::failed);
  EXPECT_TRUE(saysGone(0, failed->status));
  EXPECT_TRUE(saysGone(410, {}));
  EXPECT_FALSE(saysGone(0, statusFrom(notFound)));
}

TEST(KubernetesReplies, linesThatAreNoneAreNotUnderstood) {
  for (const std::string& line :
       {std::string{}, std::string{"ok"}, std::string{"{}"}, std::string{"[]"}, event("ADDED", "{}"),
        event("ADDED", "7"), event("EXPLODED", shown), event("added", shown), event("BOOKMARK", "{}"),
        event("BOOKMARK", R"({"metadata":{"resourceVersion":"x"}})"), event("ERROR", "7"),
        std::string{R"({"type":"ADDED"})"}, std::string{R"({"type":7,"object":{}})"},
        event("MODIFIED", shown).substr(0, 300), R"({"object":)" + shown + "}"}) {
    EXPECT_TRUE(eventFrom(line).has_error()) << line;
  }
}

TEST(KubernetesReplies, rights) {
  const std::string start = R"({"kind":"SelfSubjectRulesReview","status":{"incomplete":false,"resourceRules":[)";
  const auto rule = [](const std::string& verbs, const std::string& group, const std::string& resource) {
    return R"({"verbs":[)" + verbs + R"(],"apiGroups":[")" + group + R"("],"resources":[")" + resource + "\"]}";
  };
  const auto some = rightsFrom(start + rule(R"("create")", "authorization.k8s.io", "selfsubjectaccessreviews") + "," +
                               rule(R"("get","update")", "coordination.k8s.io", "leases") + "]}}");
  ASSERT_TRUE(some.has_value());
  EXPECT_TRUE(some->has("get") && some->has("update") && some->complete);
  EXPECT_FALSE(some->has("create") || some->has("watch"));
  const auto all = rightsFrom(start + rule(R"("*")", "*", "*") + "]}}");
  EXPECT_TRUE(all->has("get") && all->has("create"));
  const auto pods = rightsFrom(start + rule(R"("get")", "coordination.k8s.io", "leasecandidates") + "]}}");
  EXPECT_FALSE(pods->has("get"));
  const std::string ofPods = start + rule(R"("patch")", "", "pods") + "]}}";
  EXPECT_TRUE(rightsFrom(ofPods, {"", "pods"})->has("patch"));
  EXPECT_FALSE(rightsFrom(ofPods)->has("patch"));
  const auto partly =
      rightsFrom(R"({"kind":"SelfSubjectRulesReview","status":{"incomplete":true,"resourceRules":[]}})");
  EXPECT_FALSE(partly->complete);
  EXPECT_FALSE(rightsFrom(R"({"kind":"SelfSubjectRulesReview","status":{}})")->complete) << "it does not say so";
  for (const char* body : {"", "{}", R"({"kind":"SelfSubjectRulesReview"})", R"({"kind":"Lease","status":{}})"}) {
    EXPECT_TRUE(rightsFrom(body).has_error()) << body;
  }
}

}  // namespace
}  // namespace tenure::kubernetes_store
