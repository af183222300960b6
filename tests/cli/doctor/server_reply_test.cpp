// What the reply of a server tells `tenure doctor`.
#include <gtest/gtest.h>

#include "cli/doctor/probe.hpp"
#include "lockcore/net/http_client.hpp"

namespace tenure::cli::doctor {
namespace {

using namespace std::chrono_literals;

/// 2015-08-30 12:36:00.
constexpr std::chrono::seconds date{1'440'938'160};

net::HttpResponse reply(std::string body) {
  net::HttpResponse response;
  response.status = 200;
  response.headers = {{"Date", "Sun, 30 Aug 2015 12:36:00 GMT"}};
  response.body = std::move(body);
  return response;
}

TEST(DoctorServerReply, TellsTheSkewToTheSecond) {
  EXPECT_EQ(factsIn(reply({}), date).skew, 0s) << "a Date says whole seconds";
  EXPECT_EQ(factsIn(reply({}), date + 999ms).skew, 0s);
  EXPECT_EQ(factsIn(reply({}), date - 5min).skew, 5min + 0s);
  EXPECT_EQ(factsIn(reply({}), date + 400s + 500ms).skew, -400s);
  net::HttpResponse without = reply({});
  without.headers.clear();
  EXPECT_FALSE(factsIn(without, date).skew);
}

TEST(DoctorServerReply, TellsTheVersion) {
  EXPECT_EQ(factsIn(reply(R"({"etcdserver":"3.5.16","etcdcluster":"3.5.0"})"), date).version, "etcd 3.5.16");
  EXPECT_EQ(factsIn(reply("{\n  \"major\": \"1\",\n  \"gitVersion\": \"v1.33.2\"\n}"), date).version,
            "Kubernetes v1.33.2");
  for (const char* body : {"", "healthy", R"({"etcdserver")", R"({"etcdserver":")", R"({"etcdserver":3})"}) {
    EXPECT_EQ(factsIn(reply(body), date).version, "") << body;
  }
  net::HttpResponse refused = reply(R"({"gitVersion":"v1"})");
  refused.status = 403;
  EXPECT_EQ(factsIn(refused, date).version, "");
  EXPECT_EQ(factsIn(refused, date).skew, 0s) << "a rejection has a Date as well";
}

}  // namespace
}  // namespace tenure::cli::doctor
