// The client as a program creates it: from the environment of the process, over the network, with the real clock. This
// is a separate program, because it changes that environment.
#include <cstdlib>
#include <pwd.h>
#include <unistd.h>

#include <tenure/lockcore/clock.hpp>

#include "client_fixture.hpp"

namespace tenure::aws::test {
namespace {

using namespace std::chrono_literals;

class ProcessEnvironmentTest : public ClientTest {
 protected:
  ProcessEnvironmentTest() {
    for (const auto& [name, value] : AwsEnvironment::ofProcess().variables) {
      if (name.starts_with("AWS_") || name.ends_with("_proxy") || name.ends_with("_PROXY")) unsetenv(name.c_str());
    }
    put("AWS_CONFIG_FILE", path("config"));
    put("AWS_SHARED_CREDENTIALS_FILE", path("credentials"));
    put("AWS_EC2_METADATA_DISABLED", "true");
    put("AWS_REGION", "eu-central-1");
    put("AWS_ENDPOINT_URL_DYNAMODB", service_.url());
  }

  static void put(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

  std::shared_ptr<JsonClient> makePublic(JsonClientOptions options = {}) {
    return makeJsonClient(std::move(options), logger());
  }

  StubDynamoDb real_{[] { return wallClockMillisForSigning() / 1'000; }};
  LocalServer service_{[this](const auto&, const net::HttpRequest& request) { return real_.answer(request); }};
};

TEST_F(ProcessEnvironmentTest, keysOfTheEnvironment) {
  const Keys keys{"AKIAENV", secretKey, tokenText};
  real_.allow(keys);
  put("AWS_ACCESS_KEY_ID", keys.accessKeyId);
  put("AWS_SECRET_ACCESS_KEY", keys.secretAccessKey);
  put("AWS_SESSION_TOKEN", keys.sessionToken);
  const auto client = makePublic();
  // It is read at that moment, and only once.
  put("AWS_ACCESS_KEY_ID", "AKIAOTHER");
  put("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1");
  EXPECT_EQ(client->describe(), service_.url() + ", region eu-central-1");
  const JsonOutcome got = call(*client);
  ASSERT_TRUE(got) << got.error().error.message;
  EXPECT_EQ(got->status, 200) << got->body;
  EXPECT_EQ(real_.refused(), 0);
}

/// A service of systemd's without User= has none. Without this, its ~/.aws/config would be an absent file.
TEST_F(ProcessEnvironmentTest, withoutHomeTheUsersHomeCounts) {
  const std::string given = AwsEnvironment::ofProcess().get("HOME");
  unsetenv("HOME");
  const passwd* user = getpwuid(getuid());
  ASSERT_NE(user, nullptr);
  EXPECT_EQ(AwsEnvironment::ofProcess().expandHome("~/.aws/config"), std::string{user->pw_dir} + "/.aws/config");
  put("HOME", "");
  EXPECT_EQ(AwsEnvironment::ofProcess().expandHome("~/.aws/config"), "/.aws/config") << "as in botocore";
  put("HOME", given);
}

/// As in botocore, which asks the system for the home of a user who is named.
TEST_F(ProcessEnvironmentTest, theHomeOfANamedUserIsTheSystems) {
  const AwsEnvironment environment = AwsEnvironment::ofProcess();
  const passwd* root = getpwnam("root");
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(environment.expandHome("~root/.aws/config"), std::string{root->pw_dir} + "/.aws/config");
  EXPECT_EQ(environment.expandHome("~root"), root->pw_dir);
  EXPECT_EQ(environment.expandHome("~nosuchuser/.aws/config"), "~nosuchuser/.aws/config");
  EXPECT_EQ(environment.expandHome("a~root/config"), "a~root/config");
}

TEST_F(ProcessEnvironmentTest, aProcessOfAProfileSeesTheEnvironment) {
  const Keys keys{"AKIAPROC", secretKey, ""};
  real_.allow(keys);
  put("SECRET_OF_THE_TEST", secretKey);
  put("AWS_PROFILE", "p");
  write("keys.sh", R"(printf '{"Version":1,"AccessKeyId":"AKIAPROC","SecretAccessKey":"%s"}' "$SECRET_OF_THE_TEST")");
  writeConfig("[profile p]\ncredential_process = sh " + path("keys.sh") + "\n");
  const JsonOutcome got = call(*makePublic());
  unsetenv("SECRET_OF_THE_TEST");
  ASSERT_TRUE(got) << got.error().error.message;
  EXPECT_EQ(got->status, 200) << got->body;
}

TEST_F(ProcessEnvironmentTest, optionsGoBeforeTheEnvironment) {
  const Keys keys{"AKIAOPT", secretKey, ""};
  real_.allow(keys);
  put("AWS_ACCESS_KEY_ID", "AKIAENV");
  put("AWS_SECRET_ACCESS_KEY", "x");
  put("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1");
  const auto client = makePublic({.region = "eu-west-1",
                                  .endpoint = service_.url(),
                                  .credentials = ExplicitCredentials{keys.accessKeyId, keys.secretAccessKey, ""}});
  const JsonOutcome got = call(*client);
  ASSERT_TRUE(got) << got.error().error.message;
  EXPECT_EQ(got->status, 200) << got->body;
  EXPECT_EQ(client->describe(), service_.url() + ", region eu-west-1");
}

TEST_F(ProcessEnvironmentTest, nothingSetUpIsSaid) {
  const JsonOutcome got = call(*makePublic());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().error.errorClass, ErrorClass::credentials);
  EXPECT_NE(got.error().error.message.find("no AWS credentials found"), std::string::npos);
}

/// Keys of a process that expire after two seconds, by the clock of this machine.
TEST_F(ProcessEnvironmentTest, aProcessWhoseKeysExpireIsRunAgain) {
  write("next.sh", "n=$(cat " + path("count") + " 2>/dev/null || echo 0); n=$((n + 1)); echo $n > " + path("count") +
                       "\nend=$(date -u -d '+3 seconds' +%Y-%m-%dT%H:%M:%SZ)\n"
                       R"(printf '{"Version":1,"AccessKeyId":"AKIA%s","SecretAccessKey":"%s","Expiration":"%s"}' $n )" +
                       secretKey + " $end\n");
  writeConfig("[default]\ncredential_process = sh " + path("next.sh") + "\n");
  for (int i = 1; i < 200; ++i) real_.allow({"AKIA" + std::to_string(i), secretKey, ""});
  const auto client = makePublic();
  const auto runs = [&] {
    std::ifstream file{path("count")};
    int count = 0;
    return file >> count ? count : 0;
  };
  EXPECT_TRUE(eventually([&] {
    const JsonOutcome got = call(*client);
    EXPECT_TRUE(got && got->status == 200);
    return !got || runs() >= 3;
  }));
  EXPECT_EQ(real_.refused(), 0);
  EXPECT_GT(real_.served(), 3);
}

}  // namespace
}  // namespace tenure::aws::test
