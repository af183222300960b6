// What statuses and codes mean for a write: only those that prove that it was not carried out make it refused.
#include "lockcore/stores/etcd/src/errors.hpp"

#include <gtest/gtest.h>

namespace tenure::etcd_store {
namespace {

const std::string where = "etcd at http://a";

std::optional<Fault> faultOf(int status, const std::string& body, bool copiesOut = false) {
  return faultIn({where, "renewing lease x"}, Reply{status, body, "http://a", copiesOut});
}

std::string errorBody(int code) { return R"({"error":"words","message":"words","code":)" + std::to_string(code) + "}"; }

TEST(EtcdErrors, whatMayHaveBeenCarriedOutIsUnknown) {
  for (const auto& [status, body] : std::vector<std::pair<int, std::string>>{{503, errorBody(14)},
                                                                             {503, ""},
                                                                             {504, ""},
                                                                             {504, errorBody(4)},
                                                                             {408, ""},
                                                                             {408, errorBody(1)},
                                                                             {500, errorBody(2)},
                                                                             {500, errorBody(13)},
                                                                             {502, "<html>"},
                                                                             {400, errorBody(14)},
                                                                             {418, ""},
                                                                             {201, "{}"}}) {
    const auto fault = faultOf(status, body);
    ASSERT_TRUE(fault) << status << body;
    EXPECT_TRUE(fault->maybeApplied) << status << body;
    EXPECT_EQ(fault->error.errorClass, ErrorClass::transient) << status << body;
  }
}

/// etcd carries out the write that crosses its quota, and answers it with the same error as those after it.
TEST(EtcdErrors, aFullDatabaseMayHaveTakenTheWrite) {
  for (const int status : {429, 503}) {
    const auto fault = faultOf(status, errorBody(8));
    ASSERT_TRUE(fault);
    EXPECT_TRUE(fault->maybeApplied) << status;
    EXPECT_EQ(fault->error.errorClass, ErrorClass::throttled) << status;
  }
}

TEST(EtcdErrors, rejectionsAreJudgedByCodeAndStatus) {
  const auto expect = [](int status, const std::string& body, ErrorClass errorClass) {
    const auto fault = faultOf(status, body);
    ASSERT_TRUE(fault);
    EXPECT_FALSE(fault->maybeApplied) << status << body;
    EXPECT_EQ(fault->error.errorClass, errorClass) << status << body;
  };
  expect(400, errorBody(3), ErrorClass::misconfigured);
  expect(401, errorBody(16), ErrorClass::credentials);
  expect(403, errorBody(7), ErrorClass::credentials);
  expect(412, errorBody(9), ErrorClass::misconfigured);
  expect(400, errorBody(11), ErrorClass::transient);
}

/// Something in etcd's place may have passed the request on before.
TEST(EtcdErrors, withoutEtcdsCodeNothingIsProved) {
  for (const auto& [status, body] :
       std::vector<std::pair<int, std::string>>{{401, ""},
                                                {403, "<html>"},
                                                {404, "Not Found\n"},
                                                {412, ""},
                                                {429, "{}"},
                                                {403, R"({"code":7})"},
                                                {403, R"({"message":"x","code":"7"})"},
                                                {403, R"({"message":"x","code":17})"},
                                                {400, "CommonName of client sending a request"}}) {
    const auto fault = faultOf(status, body);
    ASSERT_TRUE(fault);
    EXPECT_TRUE(fault->maybeApplied) << status << body;
    EXPECT_NE(fault->error.errorClass, ErrorClass::transient) << "the status is what there is to go by";
  }
}

TEST(EtcdErrors, whatAnOperatorCanMendIsSaid) {
  const auto says = [](int status, const std::string& body, const std::string& words) {
    const auto fault = faultOf(status, body);
    ASSERT_TRUE(fault);
    EXPECT_NE(fault->error.message.find(words), std::string::npos) << fault->error.message;
  };
  says(400, errorBody(3), "give the store one, with its password file");
  says(400, "CommonName of client sending a request", "must have no common name");
  says(401, errorBody(16), "Check the user");
  says(403, errorBody(7), "readwrite PREFIX/ --prefix=true");
  says(404, "Not Found", "a member of etcd 3.4 or newer");
  says(429, errorBody(8), "etcdctl alarm list");
  says(503, errorBody(14), "lost the majority");
}

TEST(EtcdErrors, aRejectionSaysNothingOfCopies) {
  EXPECT_TRUE(faultOf(429, errorBody(8), true)->maybeApplied);
  EXPECT_TRUE(faultOf(400, errorBody(3), true)->maybeApplied);
}

TEST(EtcdErrors, aCallWithoutAnAnswerIsUnknownUnlessNothingLeft) {
  const CallName call{where, "renewing lease x"};
  EXPECT_TRUE(faultIn(call, CallFault{{ErrorClass::transient, "cut"}, true})->maybeApplied);
  EXPECT_FALSE(faultIn(call, CallFault{{ErrorClass::transient, "refused"}, false})->maybeApplied);
}

TEST(EtcdErrors, messagesNameTheMemberAndAreOneLine) {
  const auto fault = faultOf(403, R"({"error":"a\nb","message":"a\nb","code":7})");
  EXPECT_NE(fault->error.message.find("etcd at http://a: renewing lease x: http://a answered 403, code 7"),
            std::string::npos)
      << fault->error.message;
  EXPECT_EQ(fault->error.message.find('\n'), std::string::npos);
  EXPECT_FALSE(faultOf(200, "{}"));
}

}  // namespace
}  // namespace tenure::etcd_store
