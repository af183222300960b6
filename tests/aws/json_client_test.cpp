#include <stdexcept>

#include "client_fixture.hpp"
#include "lockcore/aws/signed_calls.hpp"

namespace tenure::aws::test {
namespace {

using namespace std::chrono_literals;

const Keys first{"AKIA1", secretKey, tokenText};
const Keys second{"AKIA2", secretKey + "2", tokenText + "2"};

class JsonClientTest : public ClientTest {};

TEST_F(JsonClientTest, signsAndGivesTheReply) {
  useKeys(first);
  const auto client = make();
  EXPECT_EQ(client->describe(), "https://dynamodb.eu-central-1.amazonaws.com, region eu-central-1");
  const JsonOutcome got = call(*client);
  ASSERT_TRUE(got) << got.error().error.message;
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->body, R"({"done":true})");
  EXPECT_EQ(got->requestId, "REQUEST1");
  EXPECT_EQ(requests_->all()[0].request.body, R"({"TableName":"t"})");
  EXPECT_EQ(headerOf(requests_->all()[0].request, "X-Amz-Target"), "DynamoDB_20120810.GetItem");
}

/// Its endpoint may be another one than AWS's own, with another leader.
TEST_F(JsonClientTest, aProfileThatIsNamedAndMissingAsksNobodyUntilItIsThere) {
  useKeys(first);
  set("AWS_PROFILE", "dve");
  writeConfig("[profile dev]\nendpoint_url = http://mine:1\n");
  const auto client = make();
  const JsonOutcome got = call(*client);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().error.errorClass, ErrorClass::credentials);
  EXPECT_NE(got.error().error.message.find("there is no profile dve in " + path("config")), std::string::npos);
  EXPECT_NE(got.error().error.message.find("AWS_PROFILE names it"), std::string::npos);
  EXPECT_EQ(requests_->count(), 0U);
  writeConfig("[profile dve]\nendpoint_url = http://mine:1\n");
  EXPECT_TRUE(eventually([&] { return call(*client).has_value(); }));
  EXPECT_EQ(requests_->all()[0].origin.host, "mine");
}

TEST_F(JsonClientTest, aServicesSectionThatIsNamedAndMissingAsksNobody) {
  useKeys(first);
  writeConfig("[default]\nservices = gone\n");
  const auto client = make();
  const JsonOutcome got = call(*client);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().error.errorClass, ErrorClass::misconfigured);
  EXPECT_NE(got.error().error.message.find("names the section [services gone]"), std::string::npos);
  EXPECT_EQ(requests_->count(), 0U);
}

TEST_F(JsonClientTest, aFileThatMayNotBeReadIsAWarningWhereTheEnvironmentSaysAll) {
  useKeys(first);
  set("AWS_CONFIG_FILE", directory_.path().string());
  const auto client = make();
  EXPECT_TRUE(call(*client));
  EXPECT_NE(
      logged().find("count as empty, because the environment has keys and region: " + directory_.path().string() +
                    ": Is a directory; https://dynamodb.eu-central-1.amazonaws.com, region eu-central-1, is asked"),
      std::string::npos);
}

/// It could hold the keys of another account or the endpoint: to go on without it could mean another table.
TEST_F(JsonClientTest, anUnreadableFileSendsNoRequestUnlessTheEnvironmentSaysAll) {
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/keys");
  for (const char* variable : {"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"}) {
    set("AWS_CONFIG_FILE", path("config"));
    set("AWS_SHARED_CREDENTIALS_FILE", path("credentials"));
    set(variable, directory_.path().string());
    const auto refused = [&](const char* why, JsonClientOptions options = {}) {
      const auto client = make(std::move(options));
      const JsonOutcome got = call(*client);
      ASSERT_FALSE(got) << variable << ": " << why;
      EXPECT_EQ(got.error().error.errorClass, ErrorClass::credentials);
      EXPECT_NE(got.error().error.message.find(directory_.path().string() + ": Is a directory; "), std::string::npos)
          << got.error().error.message;
      EXPECT_EQ(requests_->count(), 0U) << why;
    };
    set("AWS_ACCESS_KEY_ID", "");
    refused("no keys");
    refused("no keys, whatever the endpoint: an account has its own tables", {.endpoint = "http://mine:1"});
    useKeys(first);
    set("AWS_REGION", "");
    refused("no region");
    writeConfig("[profile p]\nregion = eu-west-1\n");
    writeCredentials("[p]\nregion = eu-west-1\n");
    set("AWS_REGION", "eu-central-1");
    set("AWS_PROFILE", "p");
    refused("half a profile that is named");
    set("AWS_PROFILE", "");
    refused("half a profile that the store names", {.profile = "p"});
    set("AWS_SECRET_ACCESS_KEY", "");
    refused("half a key");
  }
  useKeys(first);
  set("AWS_REGION", "");
  EXPECT_TRUE(call(*make({.region = "eu-central-1"})));
}

TEST_F(JsonClientTest, aFileThatIsNamedAndNotThereIsAWarning) {
  useKeys(first);
  writeConfig("");
  set("AWS_SHARED_CREDENTIALS_FILE", path("confg"));
  EXPECT_TRUE(call(*make()));
  EXPECT_NE(logged().find("AWS_SHARED_CREDENTIALS_FILE names " + path("confg") + ", which is not there"),
            std::string::npos);
  EXPECT_EQ(logged().find("AWS_CONFIG_FILE names"), std::string::npos);
}

TEST_F(JsonClientTest, anErrorOfTheServiceIsAReply) {
  useKeys(first);
  responder_ = [](const auto&, const auto&) {
    return reply(400, R"({"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"})");
  };
  const auto client = make();
  EXPECT_EQ(call(*client).value().status, 400);
  EXPECT_EQ(requests_->count(), 1U);
}

TEST_F(JsonClientTest, aLostReplyIsTransientAndInDoubt) {
  useKeys(first);
  const auto client = make();
  responder_ = [](const auto&, const auto&) -> net::HttpOutcome { return lost(net::HttpError::Kind::closed); };
  const JsonOutcome closed = call(*client);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().error, (StoreError{ErrorClass::transient, "lost on the way"}));
  EXPECT_TRUE(closed.error().maybeSent);
  responder_ = [](const auto&, const auto&) -> net::HttpOutcome { return lost(net::HttpError::Kind::connect); };
  EXPECT_FALSE(call(*client).error().maybeSent);
}

TEST_F(JsonClientTest, withoutCredentialsNothingIsSent) {
  const auto client = make();
  const JsonOutcome got = call(*client);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().error.errorClass, ErrorClass::credentials);
  EXPECT_FALSE(got.error().maybeSent);
  EXPECT_NE(got.error().error.message.find("no AWS credentials found"), std::string::npos);
  EXPECT_EQ(requests_->count(), 0U);
}

TEST_F(JsonClientTest, withoutARegionNothingIsSent) {
  environment_.variables.erase("AWS_REGION");
  useKeys(first);
  const auto client = make();
  EXPECT_EQ(client->describe(), "dynamodb, region and endpoint not known yet");
  const JsonOutcome got = call(*client);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().error.errorClass, ErrorClass::misconfigured);
  EXPECT_NE(got.error().error.message.find("switched off by AWS_EC2_METADATA_DISABLED"), std::string::npos);
}

TEST_F(JsonClientTest, theRegionMayComeFromTheInstance) {
  environment_.variables.erase("AWS_REGION");
  environment_.variables.erase("AWS_EC2_METADATA_DISABLED");
  useKeys(first);
  responder_ = [this](const net::Origin& origin, const net::HttpRequest& request) -> net::HttpOutcome {
    if (origin.host != "169.254.169.254") return dynamo_.answer(request);
    return reply(200, request.method == "PUT" ? "token" : "eu-central-1");
  };
  const auto client = make();
  ASSERT_TRUE(call(*client));
  EXPECT_EQ(client->describe(), "https://dynamodb.eu-central-1.amazonaws.com, region eu-central-1");
}

TEST_F(JsonClientTest, aBrokenFileIsToldUntilItIsPutRight) {
  useKeys(first);
  writeConfig("[default\n");
  const auto client = make();
  EXPECT_NE(call(*client).error().error.message.find(path("config") + ":1: "), std::string::npos);
  writeConfig("[default]\n");
  EXPECT_TRUE(eventually([&] { return call(*client).has_value(); }));
}

TEST_F(JsonClientTest, whoBringsAllNeedsNoFiles) {
  writeConfig("[default\n");
  dynamo_.allow(first);
  const auto client = make({.region = "eu-central-1",
                            .endpoint = "https://dynamodb.eu-central-1.amazonaws.com",
                            .credentials = ExplicitCredentials{"AKIA1", secretKey, tokenText}});
  EXPECT_TRUE(call(*client));
}

TEST_F(JsonClientTest, optionsThatCannotBeAreRefusedAtOnce) {
  EXPECT_THROW((void)make({.endpoint = "localhost:8000"}), std::invalid_argument);
  EXPECT_THROW((void)make({.region = "eu central"}), std::invalid_argument);
}

TEST_F(JsonClientTest, theFirstCallWaitsNoLongerThanItsTime) {
  writeConfig("[default]\ncredential_process = sleep 1000\n");
  const auto client = make();
  const auto begin = std::chrono::steady_clock::now();
  const JsonOutcome got = call(*client, 100ms);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().error.errorClass, ErrorClass::transient);
  EXPECT_FALSE(got.error().maybeSent);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_F(JsonClientTest, anExpiredTokenIsReplacedInsideOfTheCall) {
  writeConfig("[default]\ncredential_process = cat " + path("keys") + "\n");
  const auto put = [&](const Keys& keys) {
    dynamo_.allow(keys);
    write("keys", R"({"Version":1,"AccessKeyId":")" + keys.accessKeyId + R"(","SecretAccessKey":")" +
                      keys.secretAccessKey + R"(","SessionToken":")" + keys.sessionToken + "\"}");
  };
  put(first);
  const auto client = make();
  ASSERT_EQ(call(*client).value().status, 200);
  dynamo_.expireAll();
  put(second);
  // The first rejections may come so soon after the fetch that there is no further fetch.
  EXPECT_TRUE(eventually([&] { return call(*client).value().status == 200; }));
  const auto sent = requests_->all();
  EXPECT_NE(headerOf(sent[sent.size() - 2].request, "Authorization").find("AKIA1"), std::string::npos);
  EXPECT_NE(headerOf(sent.back().request, "Authorization").find("AKIA2"), std::string::npos);
}

TEST_F(JsonClientTest, withoutOtherKeysTheRejectionIsTheReply) {
  useKeys(first);
  dynamo_.expireAll();
  const auto client = make();
  const JsonOutcome got = call(*client);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 400);
  EXPECT_NE(got->body.find("ExpiredTokenException"), std::string::npos);
  EXPECT_EQ(requests_->count(), 1U);
}

TEST_F(JsonClientTest, aWrongClockIsCorrectedForSigning) {
  useKeys(first);
  const auto client = make();
  for (const int skew : {960, -960}) {
    SCOPED_TRACE(skew);
    serverWall_ = noon + skew;
    const std::size_t before = requests_->count();
    EXPECT_EQ(call(*client).value().status, 200);
    EXPECT_EQ(requests_->count(), before + 2);
    EXPECT_EQ(call(*client).value().status, 200);
    EXPECT_EQ(requests_->count(), before + 3) << "from then on at the first try";
  }
  EXPECT_NE(logged().find("the wall clock of this machine is wrong: the service's is 960 s ahead"), std::string::npos);
}

TEST_F(JsonClientTest, callsThatMeetAWrongClockTogetherAreAllSignedAgain) {
  useKeys(first);
  const auto client = make();
  ASSERT_EQ(call(*client).value().status, 200);
  // Each request waits until all have arrived: all are signed before the first rejection.
  constexpr int all = 8;
  serverWall_ = noon + 960;
  std::atomic<int> arrived{0};
  responder_ = [&](const auto&, const net::HttpRequest& request) {
    ++arrived;
    EXPECT_TRUE(eventually([&] { return arrived >= all; }));
    return dynamo_.answer(request);
  };
  std::vector<std::future<JsonOutcome>> calls;
  for (int i = 0; i < all; ++i) calls.push_back(start(*client));
  for (auto& one : calls) EXPECT_EQ(one.get()->status, 200);
  const std::string text = logged();
  const std::string warning = "the wall clock of this machine is wrong";
  EXPECT_EQ(text.find(warning), text.rfind(warning)) << "told once";
}

/// The service refused one copy because of its signature; another copy may be on its way to a server that accepts it.
TEST_F(JsonClientTest, aCallThatIsSignedAgainRemembersItsCopies) {
  useKeys(first);
  const auto client = make();
  serverWall_ = noon + 960;
  std::atomic<bool> answers{true};
  std::atomic<int> sent{0};
  responder_ = [&](const auto&, const net::HttpRequest& request) -> net::HttpOutcome {
    const bool again = ++sent % 2 == 0;
    if (again && !answers.load()) return lost(net::HttpError::Kind::connect);
    net::HttpOutcome outcome = dynamo_.answer(request);
    outcome->copiesOut = !again;
    return outcome;
  };
  const JsonOutcome got = call(*client);
  ASSERT_TRUE(got) << got.error().error.message;
  EXPECT_EQ(got->status, 200);
  EXPECT_TRUE(got->copiesOut);
  serverWall_ = noon;
  answers = false;
  const JsonOutcome lostNext = call(*client);
  ASSERT_FALSE(lostNext);
  EXPECT_TRUE(lostNext.error().maybeSent) << "the request that was signed again was not sent; the copies were";
  EXPECT_EQ(sent.load(), 4);
}

TEST_F(JsonClientTest, aBadSignatureUnderARightClockIsTheReply) {
  useKeys(first);
  set("AWS_SECRET_ACCESS_KEY", "another");
  const auto client = make();
  EXPECT_NE(call(*client).value().body.find("InvalidSignatureException"), std::string::npos);
  EXPECT_EQ(requests_->count(), 1U);
}

TEST_F(JsonClientTest, oneFurtherRequestAndNoMore) {
  useKeys(first);
  responder_ = [this](const auto&, const auto&) {
    serverWall_ += 3600;  // a server whose clock jumps each time
    return reply(400, R"({"__type":"x#InvalidSignatureException"})", {{"Date", httpDate(serverWall_)}});
  };
  const auto client = make();
  EXPECT_EQ(call(*client).value().status, 400);
  EXPECT_EQ(requests_->count(), 2U);
}

TEST_F(JsonClientTest, callsInFlightAreAnsweredWhenItGoes) {
  useKeys(first);
  auto client = make();
  ASSERT_TRUE(call(*client));
  *held_ = true;
  auto sent = start(*client);
  client.reset();
  const JsonOutcome got = sent.get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().error.errorClass, ErrorClass::transient);
}

TEST_F(JsonClientTest, callsThatWaitForCredentialsAreAnsweredWhenItGoes) {
  writeConfig("[default]\ncredential_process = sleep 1000\n");
  auto client = make();
  auto waiting = start(*client);
  client.reset();
  EXPECT_FALSE(waiting.get().error().maybeSent);
}

TEST_F(JsonClientTest, aHandlerMayDestroyIt) {
  useKeys(first);
  auto client = make();
  std::promise<void> gone;
  JsonClient& used = *client;
  used.call("T.X", "{}", 20s, [&](const JsonOutcome&) {
    client.reset();
    gone.set_value();
  });
  EXPECT_EQ(gone.get_future().wait_for(20s), std::future_status::ready);
}

TEST_F(JsonClientTest, andSoMayOneThatIsToldOfMissingCredentials) {
  auto client = make();
  std::promise<void> gone;
  JsonClient& used = *client;
  used.call("T.X", "{}", 20s, [&](const JsonOutcome&) {
    client.reset();
    gone.set_value();
  });
  EXPECT_EQ(gone.get_future().wait_for(20s), std::future_status::ready);
}

TEST(ServiceError, rejections) {
  const auto of = [](int status, const std::string& body, std::vector<net::HttpHeader> headers = {}) {
    return signatureErrorIn({status, std::move(headers), body});
  };
  EXPECT_EQ(of(400, R"({"__type":"com.amazon.coral.service#ExpiredTokenException"})"), SignatureError::token);
  EXPECT_EQ(of(400, R"({"__type":"UnrecognizedClientException"})"), SignatureError::token);
  EXPECT_EQ(of(403, R"({"__type":"a#InvalidSignatureException"})"), SignatureError::clock);
  EXPECT_EQ(of(400, "", {{"x-amzn-errortype", "ExpiredTokenException:http://internal/"}}), SignatureError::token);
  EXPECT_EQ(of(200, R"({"__type":"ExpiredTokenException"})"), SignatureError::none);
  EXPECT_EQ(of(500, R"({"__type":"ExpiredTokenException"})"), SignatureError::none);
  EXPECT_EQ(of(400, R"({"__type":"x#ConditionalCheckFailedException","Item":{"a":{"S":"ExpiredTokenException"}}})"),
            SignatureError::none);
  EXPECT_EQ(of(400, "ExpiredTokenException"), SignatureError::none);
  // S3's own errors, in XML.
  EXPECT_EQ(of(400, "<?xml version=\"1.0\"?>\n<Error><Code>ExpiredToken</Code></Error>"), SignatureError::token);
  EXPECT_EQ(of(403, "<Error><Code>InvalidAccessKeyId</Code></Error>"), SignatureError::token);
  EXPECT_EQ(of(403, "<Error><Code>RequestTimeTooSkewed</Code></Error>"), SignatureError::clock);
  EXPECT_EQ(of(403, "<Error><Code>AccessDenied</Code><Key>ExpiredToken</Key></Error>"), SignatureError::none);
}

}  // namespace
}  // namespace tenure::aws::test
