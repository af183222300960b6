// Each provider over real sockets and through the client's public interface: keys from a local endpoint sign a request,
// and a local service checks the signature.
#include "client_fixture.hpp"

namespace tenure::aws::test {
namespace {

using namespace std::chrono_literals;

const Keys base{"AKIABASE", secretKey, ""};

/// A real client that uses `there` instead of the fixed address of ECS, which none of our machines has.
class Rerouted final : public net::HttpClient {
 public:
  Rerouted(net::HttpClientOptions options, net::Origin there)
      : real_{net::HttpClient::make(std::move(options))}, there_{std::move(there)} {}

  void send(const net::Origin& origin, net::HttpRequest request, std::chrono::nanoseconds timeout,
            net::HttpHandler handler) override {
    const bool isEcs = origin == net::Origin{false, "169.254.170.2", 80};
    real_->send(isEcs ? there_ : origin, std::move(request), timeout, std::move(handler));
  }
  std::shared_ptr<void> stream(const net::Origin& /*origin*/, net::HttpRequest /*request*/,
                               const net::StreamLimits& /*limits*/, net::StreamHandlers /*handlers*/) override {
    return nullptr;
  }

  void preconnect(const net::Origin& origin, std::size_t connections) override {
    real_->preconnect(origin, connections);
  }

 private:
  std::shared_ptr<net::HttpClient> real_;
  net::Origin there_;
};

class RealEndpointsTest : public ClientTest {
 protected:
  RealEndpointsTest() { set("AWS_ENDPOINT_URL_DYNAMODB", service_.url()); }

  /// New keys; the service knows them from now on.
  Keys issue() {
    const std::string number = std::to_string(++issued_);
    Keys keys{"ASIA" + number, secretKey + number, tokenText + number};
    dynamo_.allow(keys);
    return keys;
  }

  net::HttpOutcome issueTo(const net::HttpRequest& request, const std::string& target, const std::string& token) {
    log_.add({}, request);
    if (request.method != "GET" || request.target != target) return reply(404, "");
    if (headerOf(request, "Authorization") != token) return reply(401, secretKey);
    return reply(200, keysJson(issue(), 3600s), {{"Date", httpDate(noon)}});
  }

  void expectACallWorks() {
    const auto client = make({}, true);
    const JsonOutcome got = call(*client);
    ASSERT_TRUE(got) << got.error().error.message;
    EXPECT_EQ(got->status, 200) << got->body;
    EXPECT_EQ(issued_, 1);
  }

  std::atomic<int> issued_{0};
  RequestLog log_{};
  LocalServer service_{[this](const auto&, const net::HttpRequest& request) { return dynamo_.answer(request); }};
};

TEST_F(RealEndpointsTest, assumeRole) {
  StubDynamoDb checker{[] { return noon; }};  // it checks signatures of any service
  checker.allow(base);
  LocalServer sts{[&](const auto&, const net::HttpRequest& request) -> net::HttpOutcome {
    log_.add({}, request);
    net::HttpOutcome checked = checker.answer(request);
    if (checked->status != 200) return checked;
    return reply(200, stsReply(issue(), 3600s), {{"Date", httpDate(noon)}});
  }};
  set("AWS_ENDPOINT_URL_STS", sts.url());
  set("AWS_PROFILE", "p");
  writeConfig("[profile p]\nrole_arn = arn:aws:iam::123456789012:role/R\nsource_profile = base\nexternal_id = a&b=c\n");
  writeCredentials("[base]\naws_access_key_id = AKIABASE\naws_secret_access_key = " + secretKey + "\n");
  expectACallWorks();
  EXPECT_EQ(checker.refused(), 0);
  const net::HttpRequest asked = log_.all().at(0).request;
  EXPECT_EQ(asked.target, "/");
  EXPECT_EQ(asked.body,
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2FR"
            "&RoleSessionName=tenure&ExternalId=a%26b%3Dc");
  EXPECT_NE(headerOf(asked, "Authorization").find("/eu-central-1/sts/aws4_request"), std::string::npos);
}

TEST_F(RealEndpointsTest, assumeRoleRefused) {
  LocalServer sts{[&](const auto&, const auto&) {
    return reply(403, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not for " + secretKey +
                          "</Message></Error></ErrorResponse>");
  }};
  set("AWS_ENDPOINT_URL_STS", sts.url());
  set("AWS_PROFILE", "p");
  writeConfig("[profile p]\nrole_arn = arn:aws:iam::123456789012:role/R\nsource_profile = base\n");
  writeCredentials("[base]\naws_access_key_id = AKIABASE\naws_secret_access_key = " + secretKey + "\n");
  const JsonOutcome got = call(*make({}, true));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().error.errorClass, ErrorClass::credentials);
  EXPECT_NE(got.error().error.message.find("refused: HTTP status 403, AccessDenied: not for [left out]"),
            std::string::npos)
      << got.error().error.message;
}

TEST_F(RealEndpointsTest, assumeRoleWithWebIdentity) {
  LocalServer sts{[&](const auto&, const net::HttpRequest& request) -> net::HttpOutcome {
    log_.add({}, request);
    return reply(200, stsReply(issue(), 3600s), {{"Date", httpDate(noon)}});
  }};
  set("AWS_ENDPOINT_URL_STS", sts.url());
  set("AWS_WEB_IDENTITY_TOKEN_FILE", path("token"));
  set("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/W");
  write("token", "head.body.sign\n");
  expectACallWorks();
  const net::HttpRequest asked = log_.all().at(0).request;
  EXPECT_NE(asked.body.find("Action=AssumeRoleWithWebIdentity&"), std::string::npos);
  EXPECT_NE(asked.body.find("&WebIdentityToken=head.body.sign"), std::string::npos);
  EXPECT_EQ(headerOf(asked, "Authorization"), "") << "this action is not signed";
}

TEST_F(RealEndpointsTest, containerByFullUriWithAToken) {
  LocalServer agent{
      [&](const auto&, const net::HttpRequest& request) { return issueTo(request, "/v1?a=b", "Basic x"); }};
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.url() + "/v1?a=b");
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic x");
  expectACallWorks();
}

TEST_F(RealEndpointsTest, containerByFullUriWithATokenFileThatIsReplaced) {
  std::atomic<int> valid{1};
  LocalServer agent{[&](const auto&, const net::HttpRequest& request) {
    return issueTo(request, "/v1", "token-" + std::to_string(valid));
  }};
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.url() + "/v1");
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path("token"));
  write("token", "token-1\n");
  const auto client = make({}, true);
  ASSERT_EQ(call(*client).value().status, 200);
  valid = 2;
  write("token", "token-2\n");
  dynamo_.expireAll();
  EXPECT_TRUE(eventually([&] { return call(*client).value().status == 200; })) << "with the token as it is now";
  EXPECT_EQ(issued_, 2);
}

TEST_F(RealEndpointsTest, aContainersWrongTokenIsToldWithoutIt) {
  LocalServer agent{[&](const auto&, const net::HttpRequest& request) { return issueTo(request, "/v1", "right"); }};
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.url() + "/v1");
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN", tokenText);
  const JsonOutcome got = call(*make({}, true));
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().error.message.find("HTTP status 401; is the authorization token right?"), std::string::npos);
}

TEST_F(RealEndpointsTest, containerByRelativeUri) {
  LocalServer agent{
      [&](const auto&, const net::HttpRequest& request) { return issueTo(request, "/v2/credentials/abc", ""); }};
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/abc");
  const net::Origin there = net::parseUrl(agent.url())->origin;
  ClientParts parts{environment_,
                    [there](net::HttpClientOptions options) -> std::shared_ptr<net::HttpClient> {
                      return std::make_shared<Rerouted>(std::move(options), there);
                    },
                    limits_};
  const auto client = makeJsonClient({}, std::move(parts), logger());
  const JsonOutcome got = call(*client);
  ASSERT_TRUE(got) << got.error().error.message;
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(headerOf(log_.all().at(0).request, "Authorization"), "");
}

TEST_F(RealEndpointsTest, instanceMetadata) {
  environment_.variables.erase("AWS_EC2_METADATA_DISABLED");
  LocalServer metadata{[&](const auto&, const net::HttpRequest& request) -> net::HttpOutcome {
    log_.add({}, request);
    if (request.method == "PUT") {
      const bool good =
          request.target == "/latest/api/token" && headerOf(request, "X-aws-ec2-metadata-token-ttl-seconds") == "21600";
      return reply(good ? 200 : 400, "session");
    }
    if (headerOf(request, "X-aws-ec2-metadata-token") != "session") return reply(401, "");
    const std::string roles = "/latest/meta-data/iam/security-credentials/";
    if (request.target == roles) return reply(200, "my-role");
    if (request.target != roles + "my-role") return reply(404, "");
    return reply(200, keysJson(issue(), 3600s), {{"Date", httpDate(noon)}});
  }};
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url());
  expectACallWorks();
  EXPECT_EQ(log_.count(), 3U);
}

TEST_F(RealEndpointsTest, anEndpointThatNobodyServesIsToldByItsAddress) {
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/v1");
  const JsonOutcome got = call(*make({}, true));
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().error.message.find("the endpoint http://127.0.0.1:1 was not reached"), std::string::npos)
      << got.error().error.message;
  EXPECT_FALSE(got.error().maybeSent);
}

}  // namespace
}  // namespace tenure::aws::test
