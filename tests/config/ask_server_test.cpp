// What the reply of a server tells `tenure doctor`.
#include "config/src/ask_server.hpp"

#include <gtest/gtest.h>

namespace tenure::config {
namespace {

using namespace std::chrono_literals;

const VersionMember etcd{"etcd", "etcdserver"};
const VersionMember kubernetes{"Kubernetes", "gitVersion"};

/// 2015-08-30 12:36:00.
constexpr std::chrono::seconds date{1'440'938'160};

net::HttpResponse reply(std::string body) {
  net::HttpResponse response;
  response.status = 200;
  response.headers = {{"Date", "Sun, 30 Aug 2015 12:36:00 GMT"}};
  response.body = std::move(body);
  return response;
}

TEST(ServerReply, TellsTheSkewToTheSecond) {
  EXPECT_EQ(factsIn(reply({}), date, etcd).skew, 0s) << "a Date says whole seconds";
  EXPECT_EQ(factsIn(reply({}), date + 999ms, etcd).skew, 0s);
  EXPECT_EQ(factsIn(reply({}), date - 5min, etcd).skew, 5min + 0s);
  EXPECT_EQ(factsIn(reply({}), date + 400s + 500ms, etcd).skew, -400s);
  net::HttpResponse without = reply({});
  without.headers.clear();
  EXPECT_FALSE(factsIn(without, date, etcd).skew);
}

TEST(ServerReply, TellsTheVersion) {
  EXPECT_EQ(factsIn(reply(R"({"etcdserver":"3.5.16","etcdcluster":"3.5.0"})"), date, etcd).version, "etcd 3.5.16");
  EXPECT_EQ(factsIn(reply("{\n  \"major\": \"1\",\n  \"gitVersion\": \"v1.33.2\"\n}"), date, kubernetes).version,
            "Kubernetes v1.33.2");
  for (const char* body : {"", "healthy", R"({"etcdserver")", R"({"etcdserver":")", R"({"etcdserver":3})"}) {
    EXPECT_EQ(factsIn(reply(body), date, etcd).version, "") << body;
  }
  EXPECT_EQ(factsIn(reply(R"({"":"1"})"), date, {}).version, "") << "a server that does not tell";
  net::HttpResponse refused = reply(R"({"gitVersion":"v1"})");
  refused.status = 403;
  EXPECT_EQ(factsIn(refused, date, kubernetes).version, "");
  EXPECT_EQ(factsIn(refused, date, kubernetes).skew, 0s) << "a rejection has a Date as well";
}

}  // namespace
}  // namespace tenure::config
