#include "lockcore/aws/shared_config.hpp"

#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>

#include "aws_world.hpp"

namespace tenure::aws::test {
namespace {

class SharedConfigTest : public AwsTest {
 protected:
  SharedConfig load() { return SharedConfig::load(environment_); }
  std::string get(const std::string& profile, const std::string& key) {
    const SharedConfig config = load();
    const Profile* found = config.find(profile);
    return found == nullptr ? "(no profile)" : found->get(key);
  }
  std::string fault(const std::string& profile = {}) {
    const auto got = load().inUse(environment_, profile);
    if (got) return "(no error)";
    watch(got.error().message);
    return got.error().message;
  }
  std::string endpoint(const std::string& services, const std::string& service) {
    Profile profile{.name = "p", .values = {{"services", {services, 1}}}};
    return load().serviceEndpoint(profile, service).value();
  }
};

TEST_F(SharedConfigTest, readsProfilesOfBothFiles) {
  writeConfig(
      "# first\n[default]\nregion = eu-west-1  ; near\n\n[profile  a b]\nRegion=us-east-1\noutput = a#b\n"
      "[profile default]\nregion = eu-central-1\n[unrelated]\nx = y\n");
  writeCredentials("[default]\r\naws_access_key_id = AKIA1\r\n[c]\naws_access_key_id=AKIA2\nregion = here\n");
  const SharedConfig config = load();
  EXPECT_EQ(config.find("default")->get("region"), "eu-central-1") << "the last section of a profile counts";
  EXPECT_EQ(config.find("default")->get("aws_access_key_id"), "AKIA1");
  EXPECT_EQ(config.find("a b")->get("region"), "us-east-1");
  EXPECT_EQ(config.find("a b")->get("output"), "a#b");
  EXPECT_EQ(config.find("c")->get("region"), "here");
  EXPECT_EQ(config.find("unrelated"), nullptr) << "the config file says profile before a name";
  EXPECT_EQ(config.find("a b")->where, path("config") + ":5");
}

TEST_F(SharedConfigTest, aCommentEndsAWordAndBelongsToOtherValues) {
  writeConfig("[default]\nregion = eu-west-1  ; near\ncredential_process = run '#1' #2\n");
  EXPECT_EQ(load().find("default")->word("region"), "eu-west-1");
  EXPECT_EQ(get("default", "credential_process"), "run '#1' #2") << "botocore knows no comment behind a value";
}

TEST_F(SharedConfigTest, readsEndpointsOfServices) {
  writeConfig(
      "[profile p]\nservices = mine\n[services mine]\ndynamodb =\n  endpoint_url = http://localhost:8000\n"
      "  other = 1\ns3 =\n  endpoint_url = http://x  # near\n");
  EXPECT_EQ(endpoint("mine", "dynamodb"), "http://localhost:8000");
  EXPECT_EQ(endpoint("mine", "s3"), "http://x");
  EXPECT_EQ(endpoint("mine", "sts"), "");
}

TEST_F(SharedConfigTest, missingFilesAreEmptyOnes) { EXPECT_EQ(load().find("default"), nullptr); }

TEST_F(SharedConfigTest, namesFileAndLineOfWhatIsWrongAndQuotesNothing) {
  const auto begins = [this](const std::string& text, const std::string& with) {
    writeCredentials(text);
    EXPECT_EQ(fault().find(path("credentials") + with), 0U) << fault();
  };
  begins("[default]\n" + secretKey + "\n", ":2: neither a [section], nor NAME = VALUE");
  begins("[default\naws_secret_access_key = " + secretKey + "\n", ":1: a section begins with [");
  begins("\n\naws_secret_access_key = " + secretKey + "\n", ":3: a line before the first [section]");
  begins("[default]\n= " + secretKey + "\n", ":2: ");
  begins("[DEFAULT]\n" + secretKey + "\n[default]\nregion = x\n", ":2: ");
}

/// It could say which store is meant; then another one would be asked.
TEST_F(SharedConfigTest, anOddLineSpoilsItsOwnSectionOnly) {
  writeConfig(
      "[default]\nregion = eu-west-1\n[profile odd]\nendpoint_url localhost\n[profile 'open]\n"
      "[profile good]\nregion = eu-west-2\ns3 =\n  addressing_style path\n");
  EXPECT_EQ(fault(), "(no error)");
  EXPECT_EQ(fault("good"), "(no error)");
  EXPECT_EQ(get("good", "region"), "eu-west-2");
  EXPECT_EQ(fault("odd").find(path("config") + ":4: "), 0U) << fault("odd");
}

/// Python's white space. A no-break space comes along with what is copied from a page.
TEST_F(SharedConfigTest, blanksOfEveryKindAreBlanks) {
  for (const char* blank : {"\xc2\xa0", "\xe3\x80\x80", "\xe2\x80\x83", "\xc2\x85", "\v", "\f", "\x1c"}) {
    const std::string b = blank;
    writeConfig("[default]\nendpoint_url" + b + "=" + b + "http://h:1" + b + "\noutput =\n" + b + "region = x\n" + b +
                b + "#\n[services s]" + b + "\ndynamodb =" + b + "\n" + b + "endpoint_url" + b + "=" + b +
                "http://s:1" + b + "\n" + b + "\n");
    EXPECT_EQ(fault(), "(no error)") << testing::PrintToString(b);
    EXPECT_EQ(get("default", "endpoint_url"), "http://h:1") << testing::PrintToString(b);
    EXPECT_EQ(get("default", "output"), "\nregion = x") << testing::PrintToString(b);
    EXPECT_EQ(get("default", "region"), "") << "continues the value above it";
    EXPECT_EQ(endpoint("s", "dynamodb"), "http://s:1") << testing::PrintToString(b);
  }
  writeConfig("[default]\n\xc2\xa0output = json\n region = eu-west-1\n");
  EXPECT_EQ(get("default", "region"), "eu-west-1") << "one column each, whatever their bytes";
}

/// What follows such a line would else be looked for nowhere, an endpoint too.
TEST_F(SharedConfigTest, aBracketThatBeginsNoSectionBelongsToTheSectionAboveIt) {
  for (const char* line : {"[]", "[", "[ ]", "[  "}) {
    writeConfig(std::string{"[default]\nregion = eu-west-1\n"} + line + "\nendpoint_url = http://localhost:8000\n");
    EXPECT_EQ(fault().find(path("config") + ":3: the section has no name"), 0U) << line << fault();
    EXPECT_EQ(get("default", "endpoint_url"), "http://localhost:8000") << line;
  }
  for (const char* line : {"[x = y", "[: y", "[ x : y"}) {
    writeConfig(std::string{"[default]\nregion = eu-west-1\n"} + line + "\nendpoint_url = http://localhost:8000\n");
    EXPECT_EQ(fault(), "(no error)") << line << ": a name and a value, as botocore reads it";
    EXPECT_EQ(get("default", "endpoint_url"), "http://localhost:8000") << line;
  }
}

TEST_F(SharedConfigTest, whatCannotBeReadCountsAsEmptyAndIsNamed) {
  set("AWS_CONFIG_FILE", directory_.path().string());
  EXPECT_EQ(load().unread(), directory_.path().string() + ": Is a directory");
  EXPECT_EQ(fault(), "(no error)");
  EXPECT_NE(fault("p").find(directory_.path().string() + " (Is a directory) and "), std::string::npos) << fault("p");
  set("AWS_CONFIG_FILE", path("loop"));
  std::filesystem::create_symlink("loop", path("loop"));
  EXPECT_EQ(load().unread(), path("loop") + ": Too many levels of symbolic links");
  set("AWS_CONFIG_FILE", path("huge"));
  write("huge", std::string(2U << 20U, '\n'));
  EXPECT_EQ(fault(), path("huge") + ": longer than 1 MiB; not read") << "it could name the endpoint";
  set("AWS_CONFIG_FILE", path("pipe"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(load().unread(), "") << "a pipe without a writer must not block";
  set("AWS_CONFIG_FILE", path("missing"));
  EXPECT_EQ(load().unread(), "");
}

/// The file could name the endpoint; without it, AWS itself would be asked.
TEST_F(SharedConfigTest, aFailureThatMayPassIsNoEmptyFile) {
  writeConfig("[default]\nendpoint_url = http://localhost:8000\n");
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const SharedConfig config = load();
  setrlimit(RLIMIT_NOFILE, &before);
  const auto got = config.inUse(environment_, {});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, path("config") + ": Too many open files");
}

TEST_F(SharedConfigTest, variablesInThePathOfAFile) {
  write("other", "[default]\nregion = eu-south-1\n");
  set("NAME", "other");
  for (const char* path : {"$HOME/other", "${HOME}/$NAME", "~/${NAME}"}) {
    set("AWS_CONFIG_FILE", path);
    EXPECT_EQ(get("default", "region"), "eu-south-1") << path;
  }
  EXPECT_EQ(environment_.expandVariables("$UNKNOWN/${NAME/$/${}"), "$UNKNOWN/${NAME/$/${}");
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
