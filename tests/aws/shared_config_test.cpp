#include "lockcore/aws/shared_config.hpp"

#include <sys/stat.h>

#include "aws_world.hpp"

namespace tenure::aws::test {
namespace {

class SharedConfigTest : public AwsTest {
 protected:
  SharedConfig load() { return SharedConfig::load(environment_).value(); }
  std::string loadError() {
    const auto got = SharedConfig::load(environment_);
    if (got) return "(no error)";
    watch(got.error().message);
    return got.error().message;
  }
};

TEST_F(SharedConfigTest, readsProfilesOfBothFiles) {
  writeConfig(
      "# first\n[default]\nregion = eu-west-1  ; near\n\n[profile  a b]\nRegion=us-east-1\noutput = a#b\n"
      "[profile default]\nregion = eu-central-1\n[unrelated]\nx = y\n");
  writeCredentials("[default]\r\naws_access_key_id = AKIA1\r\n[c]\naws_access_key_id=AKIA2\nregion = here\n");
  const SharedConfig config = load();
  EXPECT_EQ(config.find("default")->get("region"), "eu-central-1") << "[profile default] has the last word";
  EXPECT_EQ(config.find("default")->get("aws_access_key_id"), "AKIA1");
  EXPECT_EQ(config.find("a b")->get("region"), "us-east-1");
  EXPECT_EQ(config.find("a b")->get("output"), "a#b");
  EXPECT_EQ(config.find("c")->get("region"), "here");
  EXPECT_EQ(config.find("unrelated"), nullptr) << "the config file says profile before a name";
  EXPECT_EQ(config.find("a b")->where, path("config") + ":5");
}

TEST_F(SharedConfigTest, readsEndpointsOfServices) {
  writeConfig(
      "[profile p]\nservices = mine\n[services mine]\ndynamodb =\n  endpoint_url = http://localhost:8000\n"
      "  other = 1\ns3 =\n  endpoint_url = http://x\n");
  EXPECT_EQ(load().serviceEndpoint("mine", "dynamodb"), "http://localhost:8000");
  EXPECT_EQ(load().serviceEndpoint("mine", "sts"), "");
  EXPECT_EQ(load().serviceEndpoint("none", "dynamodb"), "");
}

TEST_F(SharedConfigTest, missingFilesAreEmptyOnes) { EXPECT_EQ(load().find("default"), nullptr); }

TEST_F(SharedConfigTest, namesFileAndLineOfWhatIsWrongAndQuotesNothing) {
  writeCredentials("[default]\n" + secretKey + "\n");
  EXPECT_EQ(loadError().find(path("credentials") + ":2: neither a [section], nor NAME = VALUE"), 0U) << loadError();
  writeCredentials("[default\naws_secret_access_key = " + secretKey + "\n");
  EXPECT_EQ(loadError().find(path("credentials") + ":1: a section begins with ["), 0U) << loadError();
  writeCredentials("\n\naws_secret_access_key = " + secretKey + "\n");
  EXPECT_EQ(loadError().find(path("credentials") + ":3: a value before the first [section]"), 0U) << loadError();
  writeCredentials("[  ]\n");
  EXPECT_EQ(loadError().find(path("credentials") + ":1: the section has no name"), 0U) << loadError();
  writeCredentials("[default]\n= " + secretKey + "\n");
  EXPECT_EQ(loadError().find(path("credentials") + ":2: "), 0U) << loadError();
}

TEST_F(SharedConfigTest, whatCannotBeReadIsAnError) {
  set("AWS_CONFIG_FILE", directory_.path().string());
  EXPECT_EQ(loadError(), directory_.path().string() + ": Is a directory");
  set("AWS_CONFIG_FILE", path("huge"));
  write("huge", std::string(2U << 20U, '\n'));
  EXPECT_EQ(loadError(), path("huge") + ": longer than 1 MiB; not read");
  set("AWS_CONFIG_FILE", path("pipe"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(load().find("default"), nullptr) << "a pipe without a writer must not block";
}

TEST_F(SharedConfigTest, filesAreFoundInHome) {
  environment_.variables.erase("AWS_CONFIG_FILE");
  std::filesystem::create_directory(directory_.path() / ".aws");
  write(".aws/config", "[default]\nregion = eu-north-1\n");
  EXPECT_EQ(load().find("default")->get("region"), "eu-north-1");
  set("AWS_CONFIG_FILE", "~/other");
  write("other", "[default]\nregion = eu-south-1\n");
  EXPECT_EQ(load().find("default")->get("region"), "eu-south-1");
}

}  // namespace
}  // namespace tenure::aws::test
