// Containers, EC2: what is requested, and what follows from each answer.
#include "aws_world.hpp"
#include "lockcore/aws/refresh_plan.hpp"

namespace tenure::aws::test {
namespace {

class MetadataTest : public AwsTest {
 protected:
  MetadataTest() { limits_.container.pause = std::chrono::milliseconds{1}; }
  std::size_t count(const std::string& method, const std::string& target) const {
    std::size_t out = 0;
    for (const auto& entry : requests_->all()) out += entry.request.method == method && entry.request.target == target;
    return out;
  }
  void serveOnly(int status, const std::string& body) {
    responder_ = [status, body](const auto&, const auto&) { return reply(status, body, {{"Date", httpDate(noon)}}); };
  }
};

using ContainerTest = MetadataTest;

TEST_F(ContainerTest, relativeUriIsEcs) {
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/abc?id=1");
  serveOnly(200, metadataKeys("ASIAC", isoTime(noon + 3600)));
  const auto got = find();
  ASSERT_TRUE(got) << error(got);
  EXPECT_EQ(got->keys, (Keys{"ASIAC", secretKey, tokenText}));
  EXPECT_EQ(got->lifetime, std::chrono::hours{1});
  const auto asked = requests_->all().at(0);
  EXPECT_EQ(net::toString(asked.origin) + asked.request.target, "http://169.254.170.2:80/v2/credentials/abc?id=1");
}

TEST_F(ContainerTest, tokensFromVariableAndFile) {
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials");
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic " + tokenText);
  serveOnly(200, metadataKeys("ASIAC", isoTime(noon + 3600)));
  ASSERT_TRUE(find());
  EXPECT_EQ(headerOf(requests_->all()[0].request, "Authorization"), "Basic " + tokenText);
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path("token"));
  EXPECT_NE(error(find()).find("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read"), std::string::npos);
  write("token", "from file\n");
  ASSERT_TRUE(find());
  EXPECT_EQ(headerOf(requests_->all()[1].request, "Authorization"), "from file") << "the file goes first";
  write("token", "a\r\nX-Injected: " + tokenText);
  EXPECT_NE(error(find()).find("line break"), std::string::npos);
}

TEST_F(ContainerTest, hostsThatMayBePlain) {
  serveOnly(200, metadataKeys("ASIAC", isoTime(noon + 3600)));
  for (const char* url : {"http://127.0.0.1/x", "http://127.1.2.3:80/x", "http://localhost:1/x", "http://[::1]/x",
                          "http://[fd00:ec2::23]/x", "http://169.254.170.2/x", "https://anywhere.example/x"}) {
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    EXPECT_TRUE(find()) << url;
  }
  for (const char* url :
       {"http://anywhere.example/x", "http://10.0.0.1/x", "http://127.evil.example/x", "http://[::2]/x"}) {
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    EXPECT_NE(error(find()).find("need https://"), std::string::npos) << url;
  }
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "nonsense");
  EXPECT_NE(error(find()).find("is not a usable URL"), std::string::npos);
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "x@evil.example/");
  EXPECT_NE(error(find()).find("does not begin with /"), std::string::npos);
}

TEST_F(ContainerTest, faults) {
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/x");
  EXPECT_NE(error(find()).find("was not reached: lost on the way"), std::string::npos);
  serveOnly(403, secretKey);
  EXPECT_NE(error(find()).find("HTTP status 403; is the authorization token right?"), std::string::npos);
  serveOnly(200, secretKey);
  EXPECT_NE(error(find()).find("gave no JSON object"), std::string::npos);
  serveOnly(200, R"({"AccessKeyId":"A","SecretAccessKey":")" + secretKey + "\"}");
  EXPECT_NE(error(find()).find("without \"Token\""), std::string::npos);
}

/// As in botocore.
TEST_F(ContainerTest, threeAttemptsOfTwoSeconds) {
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/x");
  for (const int status : {429, 500, 404}) {
    const std::size_t before = requests_->count();
    serveOnly(status, "");
    EXPECT_NE(error(find()).find("HTTP status " + std::to_string(status)), std::string::npos);
    EXPECT_EQ(requests_->count(), before + 3) << status;
  }
  EXPECT_EQ(requests_->all()[0].timeout, std::chrono::seconds{2});
  const std::size_t before = requests_->count();
  responder_ = [=, this](const auto&, const auto&) -> net::HttpOutcome {
    if (requests_->count() < before + 3) return lost(net::HttpError::Kind::timeout);
    return reply(200, metadataKeys("ASIAC", isoTime(noon + 3600)), {{"Date", httpDate(noon)}});
  };
  EXPECT_TRUE(find()) << "the third answers";
  EXPECT_EQ(requests_->count(), before + 3);
}

TEST_F(ContainerTest, aPauseBetweenTwoAttemptsEndsWithTheSearch) {
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/x");
  limits_.container.pause = std::chrono::hours{1};
  responder_ = [this](const auto&, const auto&) {
    stop_.request_stop();
    return reply(500, "");
  };
  EXPECT_FALSE(find());
}

class ImdsTest : public MetadataTest {
 protected:
  std::string expiration_{isoTime(noon + 7200)};

  void serve(int tokenStatus = 200, int roleStatus = 200, int keysStatus = 200) {
    responder_ = [=, this](const net::Origin&, const net::HttpRequest& request) -> net::HttpOutcome {
      if (request.method == "PUT" && request.target == "/latest/api/token") {
        return reply(headerOf(request, "X-aws-ec2-metadata-token-ttl-seconds") == "21600" ? tokenStatus : 400,
                     "session-1");
      }
      if (headerOf(request, "X-aws-ec2-metadata-token") != "session-1") return reply(401, "");
      const std::string roles = "/latest/meta-data/iam/security-credentials/";
      if (request.target == roles) return reply(roleStatus, "my-role\n");
      if (request.target == roles + "my-role") {
        return reply(keysStatus, metadataKeys("ASIAI", expiration_), {{"Date", httpDate(noon)}});
      }
      if (request.target == "/latest/meta-data/placement/region") return reply(200, "ap-south-1");
      return reply(404, "");
    };
  }
};

TEST_F(ImdsTest, tokenRoleKeys) {
  serve();
  wall_ = noon + 10'000;  // a wrong clock does not make the keys look expired
  const auto got = find();
  ASSERT_TRUE(got) << error(got);
  EXPECT_EQ(got->keys, (Keys{"ASIAI", secretKey, tokenText}));
  EXPECT_EQ(got->lifetime, std::chrono::seconds{7200});
  EXPECT_EQ(net::toString(requests_->all()[0].origin), "http://169.254.169.254:80");
  EXPECT_EQ(requests_->count(), 3U);
}

/// As in botocore: while the service that issues them is down, the instance has no others.
TEST_F(ImdsTest, keysThatHaveExpiredServeOn) {
  serve();
  for (const std::string& expired :
       {isoTime(noon), isoTime(noon - 1), isoTime(noon - 86'400), std::string{"0001-01-01T00:00:00Z"}}) {
    expiration_ = expired;
    const auto got = find();
    ASSERT_TRUE(got) << error(got);
    EXPECT_EQ(got->keys, (Keys{"ASIAI", secretKey, tokenText}));
    EXPECT_EQ(got->lifetime, extension) << expired;
    EXPECT_EQ(got->warning.find(got->source + " gave credentials that expired at " + expired), 0U) << got->warning;
  }
  expiration_ = isoTime(noon + 1);
  const auto got = find();
  ASSERT_TRUE(got) << error(got);
  EXPECT_EQ(got->lifetime, std::chrono::seconds{1});
  EXPECT_EQ(got->warning, "");
}

/// As in botocore.
TEST_F(ContainerTest, keysThatHaveExpiredAreRefused) {
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/x");
  serveOnly(200, metadataKeys("ASIAC", isoTime(noon - 1)));
  EXPECT_NE(error(find()).find("gave credentials that have expired already"), std::string::npos);
}

TEST_F(ImdsTest, endpointsOfTheEnvironment) {
  serve();
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6");
  ASSERT_TRUE(find());
  EXPECT_EQ(requests_->all()[0].origin.host, "fd00:ec2::254");
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1338/");
  ASSERT_TRUE(find());
  EXPECT_EQ(requests_->all()[3].origin.port, 1338);
  set("AWS_EC2_METADATA_DISABLED", "true");
  EXPECT_NE(error(find()).find("switched off by AWS_EC2_METADATA_DISABLED"), std::string::npos);
  EXPECT_EQ(requests_->count(), 6U);
}

/// As in botocore: one attempt of a second, unless the user wants more.
TEST_F(ImdsTest, attemptsOfTheUser) {
  serve();
  ASSERT_TRUE(find());
  EXPECT_EQ(requests_->all()[0].timeout, std::chrono::seconds{1});
  serve(500);
  EXPECT_NE(error(find()).find("gives no token"), std::string::npos);
  EXPECT_EQ(requests_->count(), 4U);
  writeConfig("[default]\nmetadata_service_timeout = 5\nmetadata_service_num_attempts = 3\n");
  EXPECT_NE(error(find()).find("gives no token"), std::string::npos);
  EXPECT_EQ(requests_->count(), 7U);
  EXPECT_EQ(requests_->all()[4].timeout, std::chrono::seconds{5});
  set("AWS_METADATA_SERVICE_TIMEOUT", "7");
  set("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "2");
  EXPECT_NE(error(find()).find("gives no token"), std::string::npos);
  EXPECT_EQ(requests_->count(), 9U);
  EXPECT_EQ(requests_->all()[7].timeout, std::chrono::seconds{7});
  for (const char* wrong : {"0", "-1", "two", "1.5"}) {
    set("AWS_METADATA_SERVICE_NUM_ATTEMPTS", wrong);
    EXPECT_NE(
        error(find()).find("AWS_METADATA_SERVICE_NUM_ATTEMPTS (in a profile metadata_service_num_attempts) is \"" +
                           std::string{wrong} + "\"; write a whole number, at least 1"),
        std::string::npos);
  }
  EXPECT_EQ(requests_->count(), 9U);
}

TEST_F(ImdsTest, endpointOfSixByItsOlderName) {
  serve();
  set("AWS_IMDS_USE_IPV6", "True");
  ASSERT_TRUE(find());
  EXPECT_EQ(requests_->all()[0].origin.host, "fd00:ec2::254");
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "ipv4");
  ASSERT_TRUE(find());
  EXPECT_EQ(requests_->all()[3].origin.host, "169.254.169.254") << "the newer name comes first";
}

TEST_F(ImdsTest, endpointsOfTheProfile) {
  serve();
  writeConfig(
      "[default]\nec2_metadata_service_endpoint_mode = ipv6\n[profile p]\nec2_metadata_service_endpoint = "
      "http://h:1/\n");
  ASSERT_TRUE(find());
  EXPECT_EQ(requests_->all()[0].origin.host, "fd00:ec2::254");
  set("AWS_PROFILE", "p");
  ASSERT_TRUE(find());
  EXPECT_EQ(net::toString(requests_->all()[3].origin), "http://h:1");
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://variable");
  ASSERT_TRUE(find());
  EXPECT_EQ(requests_->all()[6].origin.host, "variable") << "comes first";
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "h:1");
  EXPECT_NE(error(find()).find("(in a profile ec2_metadata_service_endpoint) is not a usable URL"), std::string::npos);
}

TEST_F(ImdsTest, endpointsWithAPath) {
  serve();
  const auto here = responder_;
  responder_ = [here](const net::Origin& origin, net::HttpRequest request) -> net::HttpOutcome {
    if (!request.target.starts_with("/of/this")) return reply(404, "");
    request.target.erase(0, 8);
    return here(origin, request);
  };
  for (const char* end : {"", "/"}) {
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", std::string{"http://h/of/this"} + end);
    const auto got = find();
    ASSERT_TRUE(got) << error(got);
    EXPECT_EQ(got->keys.accessKeyId, "ASIAI");
  }
}

TEST_F(ImdsTest, withoutVersionTwoNothingIsTaken) {
  for (const int status : {400, 403, 404, 500}) {
    serve(status);
    const std::string message = error(find());
    EXPECT_NE(message.find("gives no token (HTTP status " + std::to_string(status)), std::string::npos) << message;
  }
  EXPECT_EQ(count("GET", "/latest/meta-data/iam/security-credentials/"), 0U) << "version 1 must not be tried";
}

TEST_F(ImdsTest, faults) {
  serve(200, 404);
  EXPECT_NE(error(find()).find("the instance has no role"), std::string::npos);
  serve(200, 500);
  EXPECT_NE(error(find()).find("the name of the instance's role: HTTP status 500"), std::string::npos);
  serve(200, 200, 404);
  EXPECT_NE(error(find()).find("the credentials of role my-role: HTTP status 404"), std::string::npos);
}

TEST_F(ImdsTest, region) {
  serve();
  const SharedConfig config;
  FetchContext with = context(config);
  std::string why;
  EXPECT_EQ(regionOfInstance(with, why), "ap-south-1");
  responder_ = [](const auto&, const auto&) -> net::HttpOutcome { return lost(); };
  EXPECT_EQ(regionOfInstance(with, why), "");
  EXPECT_EQ(why, "no answer: lost on the way");
}

using ChainTest = MetadataTest;

TEST_F(ChainTest, theFirstLinkThatIsSetUpWins) {
  // From the last provider to the first; each new one takes over.
  responder_ = [](const net::Origin& origin, const net::HttpRequest& request) -> net::HttpOutcome {
    if (request.method == "POST") return reply(200, stsReply("web", std::chrono::hours{1}));
    if (origin.host == "169.254.170.2") return reply(200, metadataKeys("container", isoTime(noon + 3600)));
    if (request.target == "/latest/meta-data/iam/security-credentials/") return reply(200, "r");
    return reply(200, request.method == "PUT" ? "t" : metadataKeys("instance", isoTime(noon + 3600)));
  };
  EXPECT_EQ(find()->keys.accessKeyId, "instance");
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x");
  EXPECT_EQ(find()->keys.accessKeyId, "container");
  writeCredentials(
      "[default]\naws_access_key_id = profile\naws_secret_access_key = s\n[other]\naws_access_key_id = "
      "other\naws_secret_access_key = s\n");
  EXPECT_EQ(find()->keys.accessKeyId, "profile");
  write("token", "t");
  set("AWS_WEB_IDENTITY_TOKEN_FILE", path("token"));
  set("AWS_ROLE_ARN", "arn:aws:iam::1:role/W");
  EXPECT_EQ(find()->keys.accessKeyId, "web");
  set("AWS_ACCESS_KEY_ID", "environment");
  set("AWS_SECRET_ACCESS_KEY", "s");
  EXPECT_EQ(find()->keys.accessKeyId, "environment");
  EXPECT_EQ(find({std::nullopt, "other"})->keys.accessKeyId, "other") << "what the program asks for goes before it";
  EXPECT_EQ(find({Keys{"explicit", "s", ""}, "other"})->keys.accessKeyId, "explicit");
}

TEST_F(ChainTest, aLinkThatIsSetUpAndBrokenEndsTheSearch) {
  set("AWS_ACCESS_KEY_ID", "AKIA");
  writeCredentials("[default]\naws_access_key_id = profile\naws_secret_access_key = s\n");
  EXPECT_EQ(error(find()), "environment: AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY; set both or none");
}

TEST_F(ChainTest, nothingFoundListsAllThatWasAsked) {
  const std::string message = error(find());
  for (const char* part :
       {"no AWS credentials found", "environment: AWS_ACCESS_KEY_ID is not set",
        "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set", "profile: there is no profile default",
        "container: AWS_CONTAINER", "EC2 instance metadata: no answer: lost on the way"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
}

}  // namespace
}  // namespace tenure::aws::test
