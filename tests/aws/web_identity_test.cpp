// Web identity: what is requested of STS, and what follows from each answer. Which of environment and profile counts is
// in shared_files/cases.json, as botocore decides it.
#include "aws_world.hpp"

namespace tenure::aws::test {
namespace {

class WebIdentityTest : public AwsTest {
 protected:
  void serve(int status, const std::string& body) {
    responder_ = [status, body](const auto&, const auto&) { return reply(status, body, {{"Date", httpDate(noon)}}); };
  }
};

TEST_F(WebIdentityTest, asksStsWithTheTokenOfTheFile) {
  set("AWS_WEB_IDENTITY_TOKEN_FILE", path("token"));
  set("AWS_ROLE_ARN", "arn:aws:iam::1:role/W");
  set("AWS_ROLE_SESSION_NAME", "pod-1");
  write("token", "one+two\n");
  serve(200, stsReply("ASIAW", std::chrono::seconds{900}));
  const auto got = find();
  ASSERT_TRUE(got) << error(got);
  EXPECT_EQ(got->keys.accessKeyId, "ASIAW");
  EXPECT_EQ(requests_->all()[0].request.body,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2FW"
            "&RoleSessionName=pod-1&WebIdentityToken=one%2Btwo");
  write("token", "three");  // projected tokens are replaced regularly
  ASSERT_TRUE(find());
  EXPECT_NE(requests_->all()[1].request.body.find("WebIdentityToken=three"), std::string::npos);
}

TEST_F(WebIdentityTest, saysWhatIsMissing) {
  set("AWS_WEB_IDENTITY_TOKEN_FILE", path("token"));
  EXPECT_NE(error(find()).find("without AWS_ROLE_ARN"), std::string::npos);
  set("AWS_ROLE_ARN", "arn:aws:iam::1:role/W");
  EXPECT_NE(error(find()).find(path("token") + ": No such file or directory"), std::string::npos);
  write("token", "\n");
  EXPECT_NE(error(find()).find("is empty"), std::string::npos);
  write("token", tokenText);
  serve(400, "<Error><Code>InvalidIdentityToken</Code><Message>bad " + tokenText + "</Message></Error>");
  EXPECT_NE(error(find()).find("InvalidIdentityToken"), std::string::npos);
}

TEST_F(WebIdentityTest, ofAProfileThatTheProgramNames) {
  serve(200, stsReply("ASIAW", std::chrono::seconds{900}));
  write("token", tokenText + "\n");
  writeConfig("[profile w]\nrole_arn = arn:aws:iam::1:role/W\nweb_identity_token_file = ~/token\n");
  const auto got = find({std::nullopt, "w"});
  ASSERT_TRUE(got) << error(got);
  EXPECT_EQ(got->source, "profile w (" + path("config") + ":1), role arn:aws:iam::1:role/W");
  EXPECT_NE(requests_->all()[0].request.body.find("Action=AssumeRoleWithWebIdentity"), std::string::npos);
  EXPECT_EQ(headerOf(requests_->all()[0].request, "Authorization"), "") << "this action is not signed";
}

TEST_F(WebIdentityTest, saysWhereItsPartsStand) {
  serve(200, stsReply("ASIAW", std::chrono::seconds{900}));
  write("token", tokenText);
  set("AWS_WEB_IDENTITY_TOKEN_FILE", path("token"));
  writeConfig("[default]\nrole_arn = arn:aws:iam::1:role/P\nweb_identity_token_file = ~/gone\n");
  const std::string profile = "profile default (" + path("config") + ":1)";
  EXPECT_EQ(find()->source, profile + " with AWS_WEB_IDENTITY_TOKEN_FILE, role arn:aws:iam::1:role/P");
  set("AWS_ROLE_ARN", "arn:aws:iam::1:role/E");
  EXPECT_EQ(find()->source, "web identity (AWS_WEB_IDENTITY_TOKEN_FILE), role arn:aws:iam::1:role/E");
  environment_.variables.erase("AWS_WEB_IDENTITY_TOKEN_FILE");
  EXPECT_EQ(error(find()).find(profile + " with AWS_ROLE_ARN: role arn:aws:iam::1:role/E: the web identity token"), 0U)
      << error(find());
}

TEST_F(WebIdentityTest, saysWhichRoleIsMissing) {
  writeConfig("[default]\nweb_identity_token_file = ~/token\n");
  const std::string profile = "profile default (" + path("config") + ":1)";
  EXPECT_EQ(error(find()), profile + ": has web_identity_token_file without role_arn; set both or none");
  set("AWS_WEB_IDENTITY_TOKEN_FILE", path("token"));
  EXPECT_EQ(error(find()), "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN, and " + profile +
                               " has no role_arn; set one of these two, or unset AWS_WEB_IDENTITY_TOKEN_FILE");
  set("AWS_ROLE_ARN", "");
  EXPECT_EQ(error(find()),
            "web identity: AWS_ROLE_ARN is empty, and outweighs role_arn of a profile; set it to the role, or unset "
            "it");
}

}  // namespace
}  // namespace tenure::aws::test
