// Answers as etcd 3.4.23 gave them, and answers that are none: these are never a success.
#include "lockcore/stores/etcd/src/replies.hpp"

#include <gtest/gtest.h>

namespace tenure::etcd_store {
namespace {

const std::string replyHeader =
    R"({"header":{"cluster_id":"10144879847569953045","member_id":"12428976124636271536","revision":"2","raft_term":"2"})";

TEST(EtcdReplies, whatIsAbsentIsFalseZeroAndEmpty) {
  const auto read =
      txnReplyFrom(replyHeader + R"(,"succeeded":true,"responses":[{"response_range":{"header":{"revision":"1"}}},)" +
                   R"({"response_range":{"header":{"revision":"1"}}}]})");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->revision, 2);
  EXPECT_TRUE(read->succeeded);
  ASSERT_EQ(read->parts.size(), 2U);
  EXPECT_TRUE(read->parts[0].found.empty());
}

TEST(EtcdReplies, aRejectionHasWhatWasRead) {
  const auto refused = txnReplyFrom(
      replyHeader + R"(,"responses":[{"response_range":{"header":{"revision":"2"},"kvs":[{"key":"L3QvbGVhc2UvYQ==",)" +
      R"("create_revision":"2","mod_revision":"2","version":"1","value":"e30="}],"count":"1"}}]})");
  ASSERT_TRUE(refused.has_value());
  EXPECT_FALSE(refused->succeeded);
  ASSERT_EQ(refused->parts.size(), 1U);
  ASSERT_EQ(refused->parts[0].found.size(), 1U);
  EXPECT_EQ(refused->parts[0].found[0].key, "/t/lease/a");
  EXPECT_EQ(refused->parts[0].found[0].value, "{}");
  EXPECT_EQ(refused->parts[0].found[0].changedAt, 2);
}

TEST(EtcdReplies, writesTellWhatTheyDid) {
  const auto done = txnReplyFrom(
      replyHeader +
      R"(,"succeeded":true,"responses":[{"response_delete_range":{"header":{"revision":"3"},"deleted":"1"}},)" +
      R"({"response_put":{"header":{"revision":"3"}}}]})");
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->parts[0].kind, Part::Kind::erase);
  EXPECT_EQ(done->parts[0].erased, 1);
  EXPECT_EQ(done->parts[1].kind, Part::Kind::put);
}

TEST(EtcdReplies, otherShapesAreNotUnderstood) {
  const std::vector<std::string> answers{
      "",
      "<html>ok</html>",
      "[]",
      "{}",
      R"({"succeeded":true})",
      R"({"header":{},"succeeded":true})",
      R"({"header":{"revision":2},"succeeded":true})",
      R"({"header":{"revision":"-2"},"succeeded":true})",
      R"({"header":{"revision":"2x"},"succeeded":true})",
      R"({"header":{"revision":"99999999999999999999"},"succeeded":true})",
      replyHeader + R"(,"succeeded":"true"})",
      replyHeader + R"(,"succeeded":1})",
      replyHeader + R"(,"succeeded":true,"error":"x"})",
      replyHeader + R"(,"succeeded":true,"responses":{}})",
      replyHeader + R"(,"succeeded":true,"responses":[1]})",
      replyHeader + R"(,"succeeded":true,"responses":[{}]})",
      replyHeader + R"(,"succeeded":true,"responses":[{"response_put":true}]})",
      replyHeader + R"(,"succeeded":true,"responses":[{"response_put":{}}]})",
      replyHeader + R"(,"succeeded":true,"responses":[{"response_put":{"header":{}},"response_range":{"header":{}}}]})",
      replyHeader + R"(,"succeeded":true,"responses":[{"response_range":{"header":{},"kvs":[{"key":"%"}]}}]})",
      replyHeader + R"(,"responses":[{"response_range":{"header":{},"kvs":[{"key":"YQ==","value":"e30="}]}}]})",
      replyHeader + R"(,"responses":[{"response_range":{"header":{},"kvs":[{"mod_revision":"2"}]}}]})",
      replyHeader + R"(,"responses":[{"response_delete_range":{"header":{},"deleted":1}}]})",
      // A key that is counted and not shown, and one of the future: the header is at revision 2.
      replyHeader + R"(,"responses":[{"response_range":{"header":{},"count":"1"}}]})",
      replyHeader +
          R"(,"responses":[{"response_range":{"header":{},"kvs":[{"key":"YQ==","mod_revision":"3"}],"count":"1"}}]})",
  };
  for (const std::string& answer : answers) EXPECT_TRUE(txnReplyFrom(answer).has_error()) << answer;
}

TEST(EtcdReplies, aWatchBeginsAndTellsEvents) {
  const auto begun = watchLineFrom(R"({"result":)" + replyHeader + R"(,"created":true}})");
  ASSERT_TRUE(begun.has_value());
  EXPECT_TRUE(begun->created);
  const auto line = watchLineFrom(
      R"({"result":)" + replyHeader +
      R"(,"events":[{"type":"DELETE","kv":{"key":"L3QvZmVuY2UvYQ==","mod_revision":"4"}},)" +
      R"({"kv":{"key":"L3QvbGVhc2UvYQ==","create_revision":"4","mod_revision":"4","version":"1","value":"e30="}}]}})");
  ASSERT_TRUE(line.has_value());
  ASSERT_EQ(line->events.size(), 2U);
  EXPECT_TRUE(line->events[0].erased);
  EXPECT_EQ(line->events[0].entry.key, "/t/fence/a");
  EXPECT_FALSE(line->events[1].erased);
  EXPECT_TRUE(watchLineFrom(R"({"result":)" + replyHeader + "}}").has_value()) << "progress";
}

TEST(EtcdReplies, aWatchEndsByItsLines) {
  const std::vector<std::string> ends{
      R"({"result":)" + replyHeader + R"(,"canceled":true,"compact_revision":"3"}})",
      R"({"result":)" + replyHeader + R"(,"created":true,"canceled":true}})",
      R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader","http_status":"Service Unavailable"}})",
      R"({"error":"x"})",
      R"({"result":{"events":[{"kv":{"key":"YQ=="}}]}})",
      R"({"result":{"events":[{"type":"MOVE","kv":{"key":"YQ==","mod_revision":"4"}}]}})",
      R"({"result":{"events":{}}})",
      R"({"result":[]})",
      "{}",
      "nonsense",
  };
  for (const std::string& line : ends) EXPECT_TRUE(watchLineFrom(line).has_error()) << line;
}

}  // namespace
}  // namespace tenure::etcd_store
