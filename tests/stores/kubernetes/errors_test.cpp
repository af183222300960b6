// What statuses mean for a write: only those that prove that it was not carried out make it refused.
#include "lockcore/kubernetes/errors.hpp"

#include <gtest/gtest.h>

#include "simulation/kubernetes/sim_api_server.hpp"

namespace tenure::kubernetes_store {
namespace {

const std::string where = "Kubernetes at https://a, namespace n";

std::optional<Fault> faultOf(int status, const std::string& body) {
  return faultIn({where, "renewing lease x"}, Reply{status, body});
}

std::string said(int status, const std::string& reason) {
  return test::ApiServer::failure(status, reason, "words", "x").body;
}

TEST(KubernetesErrors, whatMayHaveBeenCarriedOutIsUnknown) {
  const std::string cutShort =
      R"({"metadata":{},"status":"Failure","message":"Timeout","reason":"Timeout","code":504})";
  for (const auto& [status, body] : std::vector<std::pair<int, std::string>>{{500, said(500, "InternalError")},
                                                                             {500, ""},
                                                                             {502, "<html>"},
                                                                             {503, said(503, "ServiceUnavailable")},
                                                                             {504, cutShort},
                                                                             {504, said(504, "Timeout")},
                                                                             {408, ""},
                                                                             {418, ""},
                                                                             {204, ""},
                                                                             {302, ""}}) {
    const auto fault = faultOf(status, body);
    ASSERT_TRUE(fault) << status << body;
    EXPECT_TRUE(fault->maybeApplied) << status << body;
    EXPECT_EQ(fault->error.errorClass, ErrorClass::transient) << status << body;
  }
}

TEST(KubernetesErrors, rejectionsAreJudgedByTheStatus) {
  const std::vector<std::pair<int, ErrorClass>> rejections{
      {400, ErrorClass::misconfigured}, {401, ErrorClass::credentials},   {403, ErrorClass::credentials},
      {404, ErrorClass::misconfigured}, {405, ErrorClass::misconfigured}, {409, ErrorClass::transient},
      {413, ErrorClass::misconfigured}, {415, ErrorClass::misconfigured}, {422, ErrorClass::misconfigured},
      {429, ErrorClass::throttled}};
  for (const auto& [status, errorClass] : rejections) {
    for (const std::string& body : {said(status, "Reason"), std::string{}, std::string{"<html>"}}) {
      const auto fault = faultOf(status, body);
      ASSERT_TRUE(fault) << status;
      EXPECT_EQ(fault->maybeApplied, body != said(status, "Reason"))
          << "only its own words prove it: " << status << body;
      EXPECT_EQ(fault->error.errorClass, errorClass) << status << body;
    }
  }
}

TEST(KubernetesErrors, whatAnOperatorCanMendIsSaid) {
  const auto says = [](int status, const std::string& words) {
    const auto fault = faultOf(status, said(status, "Reason"));
    ASSERT_TRUE(fault);
    EXPECT_NE(fault->error.message.find(words), std::string::npos) << fault->error.message;
  };
  says(401, "read again at each rejection");
  says(403, "verbs get, create, update, list and watch on leases");
  says(404, "Does the namespace exist");
  says(413, "256 KiB");
}

TEST(KubernetesErrors, aCallWithoutAnAnswerIsUnknownUnlessNothingLeft) {
  const CallName call{where, "renewing lease x"};
  EXPECT_TRUE(faultIn(call, CallFault{{ErrorClass::transient, "cut"}, true})->maybeApplied);
  EXPECT_FALSE(faultIn(call, CallFault{{ErrorClass::transient, "refused"}, false})->maybeApplied);
}

TEST(KubernetesErrors, messagesNameTheServerAndAreOneLine) {
  const auto fault = faultOf(403, test::ApiServer::failure(403, "Forbidden", "a\nb", "x").body);
  EXPECT_NE(fault->error.message.find(where + ": renewing lease x: the server answered 403: \"a\\nb\""),
            std::string::npos)
      << fault->error.message;
  EXPECT_EQ(fault->error.message.find('\n'), std::string::npos);
  EXPECT_FALSE(faultOf(200, "{}"));
  EXPECT_FALSE(faultOf(201, "{}"));
}

}  // namespace
}  // namespace tenure::kubernetes_store
