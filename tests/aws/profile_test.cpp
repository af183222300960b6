// Profiles: keys, roles through STS, circles, what is not supported.
#include "aws_world.hpp"

namespace tenure::aws::test {
namespace {

class ProfileTest : public AwsTest {
 protected:
  /// STS: the key id of an answer shows the role and the caller: "ASIA:role<caller".
  void serveSts() {
    responder_ = [this](const net::Origin&, const net::HttpRequest& request) -> net::HttpOutcome {
      const std::string authorization = headerOf(request, "Authorization");
      const std::size_t begin = authorization.find("Credential=") + 11;
      const std::string caller =
          authorization.empty() ? "" : authorization.substr(begin, authorization.find('/', begin) - begin);
      const std::size_t role = request.body.find("role%2F") + 7;
      return reply(200, stsReply("ASIA:" + request.body.substr(role, 1) + '<' + caller, std::chrono::hours{1}));
    };
  }
  void writeKeys(const std::string& profile, const std::string& id) {
    keys_ += '[' + profile + "]\naws_access_key_id = " + id + "\naws_secret_access_key = " + secretKey + '\n';
    writeCredentials(keys_);
  }
  StoreResult<Credentials> use(const std::string& profile) { return find({std::nullopt, profile}); }

  std::string keys_{};
};

TEST_F(ProfileTest, keys) {
  writeKeys("default", "AKIA1");
  writeKeys("p", "AKIA2");
  EXPECT_EQ(find()->keys, (Keys{"AKIA1", secretKey, ""}));
  EXPECT_EQ(use("p")->keys.accessKeyId, "AKIA2");
  set("AWS_PROFILE", "p");
  EXPECT_EQ(find()->keys.accessKeyId, "AKIA2");
  EXPECT_EQ(find()->lifetime, std::nullopt);
}

TEST_F(ProfileTest, theOlderVariableOfTheProfileComesFirst) {
  writeKeys("a", "AKIA1");
  writeKeys("b", "AKIA2");
  set("AWS_PROFILE", "a");
  set("AWS_DEFAULT_PROFILE", "b");
  EXPECT_EQ(find()->keys.accessKeyId, "AKIA2") << "as in botocore";
  set("AWS_DEFAULT_PROFILE", "");
  EXPECT_EQ(find()->keys.accessKeyId, "AKIA1");
}

/// Half of them from another file would be keys that nobody wrote.
TEST_F(ProfileTest, keysAreThoseOfOneFile) {
  writeConfig("[profile p]\naws_access_key_id = AKIACONFIG\naws_secret_access_key = s\naws_session_token = t\n");
  writeKeys("p", "AKIA1");
  EXPECT_EQ(use("p")->keys, (Keys{"AKIA1", secretKey, ""})) << "without the token of the other file";
  writeCredentials("[p]\naws_access_key_id = AKIA1\n");
  EXPECT_NE(error(use("p")).find("without aws_secret_access_key"), std::string::npos) << error(use("p"));
  writeCredentials("[p]\nregion = eu-west-1\n");
  EXPECT_EQ(use("p")->keys, (Keys{"AKIACONFIG", "s", "t"}));
}

TEST_F(ProfileTest, aProcessComesBeforeKeysOfTheConfigFile) {
  const std::string process =
      R"(credential_process = echo '{"Version":1,"AccessKeyId":"AKIAP","SecretAccessKey":"s"}')";
  writeConfig("[profile p]\naws_access_key_id = AKIACONFIG\naws_secret_access_key = s\n" + process + "\n");
  EXPECT_EQ(use("p")->keys.accessKeyId, "AKIAP");
  writeKeys("p", "AKIA1");
  EXPECT_EQ(use("p")->keys.accessKeyId, "AKIA1");
}

TEST_F(ProfileTest, olderNamesOfTheToken) {
  writeCredentials("[default]\naws_access_key_id = AKIA1\naws_secret_access_key = s\naws_security_token = old\n");
  EXPECT_EQ(find()->keys.sessionToken, "old");
  set("AWS_ACCESS_KEY_ID", "AKIA2");
  set("AWS_SECRET_ACCESS_KEY", "s");
  set("AWS_SESSION_TOKEN", "new");
  EXPECT_EQ(find()->keys.sessionToken, "new");
  set("AWS_SECURITY_TOKEN", "older");
  EXPECT_EQ(find()->keys.sessionToken, "older") << "as in botocore";
}

TEST_F(ProfileTest, keysOfTheEnvironmentMayHaveAnEnd) {
  set("AWS_ACCESS_KEY_ID", "ASIA1");
  set("AWS_SECRET_ACCESS_KEY", secretKey);
  set("AWS_CREDENTIAL_EXPIRATION", "2026-11-21T13:00:00+00:00");
  EXPECT_EQ(find()->lifetime, std::chrono::hours{1});
  wall_ = noon + 3600;
  EXPECT_EQ(
      error(find()),
      "environment: AWS_CREDENTIAL_EXPIRATION is 2026-11-21T13:00:00+00:00, which is over; start this process with "
      "new keys, or correct the clock of this machine");
  set("AWS_CREDENTIAL_EXPIRATION", secretKey);
  EXPECT_EQ(error(find()),
            "environment: AWS_CREDENTIAL_EXPIRATION is not a time such as 2026-11-21T12:00:00Z; set it to the end of "
            "these keys, or unset it");
}

TEST_F(ProfileTest, whatSpoilsARequestIsNamed) {
  writeCredentials("[default]\naws_access_key_id = AKIA1\n  AKIA2\naws_secret_access_key = s\n");
  EXPECT_NE(error(find()).find("(" + path("credentials") + ":1): aws_access_key_id holds a line break"),
            std::string::npos)
      << error(find());
  set("AWS_ACCESS_KEY_ID", "AKIA2");
  set("AWS_SECRET_ACCESS_KEY", "s\r");
  EXPECT_NE(error(find()).find("environment: AWS_SECRET_ACCESS_KEY holds a line break"), std::string::npos);
  set("AWS_SECRET_ACCESS_KEY", "s");
  set("AWS_SESSION_TOKEN", "\xc2\xa0token");
  EXPECT_NE(error(find()).find("environment: AWS_SESSION_TOKEN holds"), std::string::npos);
  set("AWS_SESSION_TOKEN", "");
  set("AWS_ACCESS_KEY_ID", "AKIA2\n");
  EXPECT_NE(error(find()).find("environment: AWS_ACCESS_KEY_ID holds"), std::string::npos);
}

TEST_F(ProfileTest, halfAKeyIsAnError) {
  writeCredentials("[default]\naws_secret_access_key = " + secretKey + '\n');
  EXPECT_NE(error(find()).find("without aws_access_key_id"), std::string::npos);
  writeCredentials("[default]\naws_access_key_id = AKIA\n");
  EXPECT_EQ(error(find()),
            "profile default (" + path("credentials") + ":1): has aws_access_key_id without aws_secret_access_key");
}

TEST_F(ProfileTest, aLongRoleNameIsShownAndAKeyInItsPlaceIsNot) {
  writeKeys("base", "AKIA1");
  const std::string arn = "arn:aws:iam::123456789012:role/payments-production-leader-election-role";
  writeConfig("[profile p]\nrole_arn = " + arn + "\nsource_profile = base\n[profile q]\nrole_arn = " + secretKey +
              "\nsource_profile = base\n");
  EXPECT_NE(error(use("p")).find("role " + arn + ": STS at"), std::string::npos);
  EXPECT_NE(error(use("q")).find("role [left out]: STS at"), std::string::npos);
}

TEST_F(ProfileTest, aNamedProfileMustBeThere) {
  const std::string missing = "there is no profile typo in " + path("config") + " and " + path("credentials");
  EXPECT_EQ(error(use("typo")), missing + "; the option profile names it: correct the name, or add the profile");
  for (const char* variable : {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}) {
    set(variable, "typo");
    EXPECT_EQ(error(find()), missing + "; " + variable + " names it: correct the name, or add the profile");
  }
  writeConfig("[typo]\nregion = eu-west-1\n");
  EXPECT_NE(error(find()).find("(the section [typo] of " + path("config") + " is none; write [profile typo] there)"),
            std::string::npos)
      << error(find());
}

TEST_F(ProfileTest, aRoleWithASourceProfile) {
  serveSts();
  writeKeys("base", "AKIA1");
  writeConfig(
      "[profile p]\nrole_arn = arn:aws:iam::123456789012:role/R\nsource_profile = base\n"
      "external_id = ex ternal\nrole_session_name = me\nduration_seconds = 900\n");
  const auto got = use("p");
  ASSERT_TRUE(got) << error(got);
  EXPECT_EQ(got->keys, (Keys{"ASIA:R<AKIA1", secretKey, tokenText}));
  EXPECT_EQ(got->lifetime, std::chrono::hours{1});
  const auto asked = requests_->all();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(net::toString(asked[0].origin), "https://sts.eu-central-1.amazonaws.com:443");
  EXPECT_EQ(asked[0].request.body,
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2FR"
            "&RoleSessionName=me&ExternalId=ex%20ternal&DurationSeconds=900");
  EXPECT_NE(headerOf(asked[0].request, "Authorization").find("/eu-central-1/sts/aws4_request"), std::string::npos);
}

TEST_F(ProfileTest, rolesInAChain) {
  serveSts();
  writeKeys("base", "AKIA1");
  writeConfig(
      "[profile a]\nrole_arn = arn:aws:iam::1:role/A\nsource_profile = b\n"
      "[profile b]\nrole_arn = arn:aws:iam::1:role/B\nsource_profile = base\n");
  EXPECT_EQ(use("a")->keys.accessKeyId, "ASIA:A<ASIA:B<AKIA1");
}

TEST_F(ProfileTest, keysOfASourceOutweighItsRole) {
  serveSts();
  const std::string role = "[profile a]\nrole_arn = arn:aws:iam::1:role/A\nsource_profile = b\n";
  const std::string other = "[profile b]\nrole_arn = arn:aws:iam::1:role/B\nsource_profile = c\n[profile c]\n";
  writeKeys("b", "AKIA1");
  writeConfig(role + other);
  EXPECT_EQ(use("a")->keys.accessKeyId, "ASIA:A<AKIA1") << "as in botocore";
  writeCredentials("");
  writeConfig(other + role + "[profile b]\naws_access_key_id = AKIA2\naws_secret_access_key = " + secretKey + "\n");
  EXPECT_EQ(use("a")->keys.accessKeyId, "ASIA:A<AKIA2");
  write("token", tokenText);
  writeConfig(role +
              "[profile b]\nrole_arn = arn:aws:iam::1:role/B\nweb_identity_token_file = ~/token\n"
              "aws_access_key_id = AKIA2\naws_secret_access_key = s\n");
  EXPECT_EQ(use("a")->keys.accessKeyId.find("ASIA:A<ASIA:B"), 0U) << "a token outweighs keys";
}

/// botocore's order.
TEST_F(ProfileTest, aRoleOfTheProfileComesBeforeTheTokenOfTheEnvironment) {
  serveSts();
  write("token", tokenText);
  set("AWS_WEB_IDENTITY_TOKEN_FILE", path("token"));
  set("AWS_ROLE_ARN", "arn:aws:iam::1:role/E");
  writeKeys("base", "AKIA1");
  writeConfig("[default]\nrole_arn = arn:aws:iam::1:role/P\nsource_profile = base\n");
  EXPECT_EQ(find()->keys.accessKeyId, "ASIA:P<AKIA1");
  writeConfig("[default]\nrole_arn = arn:aws:iam::1:role/P\nsource_profile = gone\n");
  EXPECT_NE(error(find()).find("there is no profile gone"), std::string::npos);
  for (const char* config : {"[default]\naws_access_key_id = AKIA2\naws_secret_access_key = s\n",
                             "[default]\nrole_arn = arn:aws:iam::1:role/P\nweb_identity_token_file = ~/token\n", ""}) {
    writeConfig(config);
    EXPECT_EQ(find()->keys.accessKeyId.find("ASIA:E<"), 0U) << config;
  }
  set("AWS_ACCESS_KEY_ID", "AKIA9");
  set("AWS_SECRET_ACCESS_KEY", "s");
  writeConfig("[default]\nrole_arn = arn:aws:iam::1:role/P\nsource_profile = base\n");
  EXPECT_EQ(find()->keys.accessKeyId, "AKIA9");
}

TEST_F(ProfileTest, aProfileMayBeItsOwnSource) {
  serveSts();
  writeKeys("p", "AKIA1");
  writeConfig("[profile p]\nrole_arn = arn:aws:iam::1:role/P\nsource_profile = p\n");
  EXPECT_EQ(use("p")->keys.accessKeyId, "ASIA:P<AKIA1");
}

TEST_F(ProfileTest, aCircleIsRefusedByItsPath) {
  writeConfig(
      "[profile a]\nrole_arn = arn:aws:iam::1:role/A\nsource_profile = b\n"
      "[profile b]\nrole_arn = arn:aws:iam::1:role/B\nsource_profile = c\n"
      "[profile c]\nrole_arn = arn:aws:iam::1:role/C\nsource_profile = a\n");
  EXPECT_NE(error(use("a")).find("forms a cycle: a -> b -> c -> a"), std::string::npos) << error(use("a"));
  EXPECT_EQ(requests_->count(), 0U);
}

TEST_F(ProfileTest, aSourceThatIsNotThere) {
  writeConfig(
      "[profile a]\nrole_arn = arn:aws:iam::1:role/A\nsource_profile = b\n[profile empty]\nregion = x\n"
      "[profile c]\nrole_arn = arn:aws:iam::1:role/A\nsource_profile = empty\n"
      "[profile d]\nrole_arn = arn:aws:iam::1:role/A\n");
  EXPECT_NE(error(use("a")).find("there is no profile b in "), std::string::npos);
  EXPECT_NE(error(use("a")).find("; source_profile names it"), std::string::npos);
  EXPECT_NE(error(use("c")).find("source_profile empty gives no credentials"), std::string::npos);
  EXPECT_NE(error(use("d")).find("role_arn needs one of source_profile"), std::string::npos);
}

TEST_F(ProfileTest, credentialSource) {
  serveSts();
  writeConfig(
      "[profile e]\nrole_arn = arn:aws:iam::1:role/E\ncredential_source = Environment\n"
      "[profile x]\nrole_arn = arn:aws:iam::1:role/X\ncredential_source = Other\n");
  EXPECT_NE(error(use("e")).find("credential_source Environment gives no credentials: AWS_ACCESS_KEY_ID is not set"),
            std::string::npos);
  set("AWS_ACCESS_KEY_ID", "AKIA9");
  set("AWS_SECRET_ACCESS_KEY", secretKey);
  EXPECT_EQ(use("e")->keys.accessKeyId, "ASIA:E<AKIA9");
  EXPECT_NE(error(use("x")).find("can be Environment, EcsContainer or Ec2InstanceMetadata"), std::string::npos);
}

TEST_F(ProfileTest, aDurationThatIsLeftOutIsSaid) {
  serveSts();
  writeKeys("base", "AKIA1");
  const std::string role = "[profile p]\nrole_arn = arn:aws:iam::1:role/R\nsource_profile = base\n";
  writeConfig(role + "duration_seconds = 1h\n");
  EXPECT_EQ(use("p")->warning, "profile p (" + path("config") +
                                   ":1): duration_seconds is \"1h\", which is no whole number, and is left out; write "
                                   "one such as 3600");
  writeConfig(role + "duration_seconds = 3_600\n");
  EXPECT_EQ(use("p")->warning, "");
}

TEST_F(ProfileTest, whatIsNotSupportedSaysWhatToDo) {
  writeConfig(
      "[profile s]\nsso_account_id = 1\n[profile o]\nsso_role_name = R\n[profile l]\nlogin_session = x\n"
      "[profile m]\nrole_arn = arn:aws:iam::1:role/M\nsource_profile = s\nmfa_serial = arn:aws:iam::1:mfa/me\n");
  for (const char* profile : {"s", "o", "l"}) {
    const std::string message = error(use(profile));
    EXPECT_NE(message.find("not supported here, and no other keys are taken for it"), std::string::npos) << message;
    EXPECT_NE(message.find(std::string{"aws configure export-credentials --profile "} + profile), std::string::npos);
  }
  EXPECT_NE(error(use("m")).find("mfa_serial"), std::string::npos);
}

TEST_F(ProfileTest, stsRefuses) {
  writeKeys("base", "AKIA1");
  writeConfig("[profile p]\nrole_arn = arn:aws:iam::1:role/R\nsource_profile = base\n");
  responder_ = [](const auto&, const auto&) {
    return reply(403, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>User: &lt;me&gt; is not authorized " +
                          tokenText + "</Message></Error></ErrorResponse>");
  };
  EXPECT_NE(error(use("p")).find("HTTP status 403, AccessDenied: User: <me> is not authorized"), std::string::npos)
      << error(use("p"));
  responder_ = [](const auto&, const auto&) { return reply(200, "<html>" + secretKey + "</html>"); };
  EXPECT_NE(error(use("p")).find("a reply without credentials"), std::string::npos);
  responder_ = [](const auto&, const auto&) { return reply(200, stsReply("ASIA", std::chrono::seconds{-5})); };
  EXPECT_NE(error(use("p")).find("expired already"), std::string::npos);
  responder_ = [](const auto&, const auto&) -> net::HttpOutcome { return lost(); };
  EXPECT_NE(error(use("p")).find("was not reached: lost on the way"), std::string::npos);
}

TEST_F(ProfileTest, stsOnceMoreAfterATransientFault) {
  writeKeys("base", "AKIA1");
  writeConfig("[profile p]\nrole_arn = arn:aws:iam::1:role/R\nsource_profile = base\n");
  responder_ = [this](const auto&, const auto&) -> net::HttpOutcome {
    if (requests_->count() == 1) return reply(503, "busy");
    return reply(200, stsReply("ASIA", std::chrono::hours{1}));
  };
  EXPECT_TRUE(use("p"));
  EXPECT_EQ(requests_->count(), 2U);
}

TEST_F(ProfileTest, stsWithAWrongClock) {
  writeKeys("base", "AKIA1");
  writeConfig("[profile p]\nrole_arn = arn:aws:iam::1:role/R\nsource_profile = base\n");
  wall_ = noon - 960;
  responder_ = [](const auto&, const net::HttpRequest& request) -> net::HttpOutcome {
    const net::HttpHeader date{"Date", httpDate(noon)};
    if (headerOf(request, "X-Amz-Date") != "20261121T120000Z") {
      return reply(403, "<Error><Code>SignatureDoesNotMatch</Code></Error>", {date});
    }
    return reply(200, stsReply("ASIA", std::chrono::hours{1}), {date});
  };
  const auto got = use("p");
  ASSERT_TRUE(got) << error(got);
  EXPECT_EQ(got->lifetime, std::chrono::hours{1}) << "by the clock of STS, not by our wrong one";
}

TEST_F(ProfileTest, theEndpointOfStsIsLookedForInTheProfileThatTheProgramNames) {
  serveSts();
  writeKeys("base", "AKIA1");
  writeConfig(
      "[profile p]\nrole_arn = arn:aws:iam::1:role/R\nsource_profile = base\nservices = s\n"
      "[services s]\nsts =\n  endpoint_url = http://mine:1\n");
  ASSERT_TRUE(use("p"));
  EXPECT_EQ(requests_->all()[0].origin.host, "mine");
}

TEST_F(ProfileTest, stsWithoutARegionIsTheGlobalOne) {
  serveSts();
  region_ = "";
  writeKeys("base", "AKIA1");
  writeConfig("[profile p]\nrole_arn = arn:aws:iam::1:role/R\nsource_profile = base\n");
  ASSERT_TRUE(use("p"));
  EXPECT_EQ(requests_->all()[0].origin.host, "sts.amazonaws.com");
}

}  // namespace
}  // namespace tenure::aws::test
