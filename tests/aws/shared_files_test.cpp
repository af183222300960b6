// AWS's shared files and variables are read as botocore reads them. The verdicts in shared_files/cases.json are
// botocore's own; tests/interop/botocore_reads_files.py asks it again, and gives further tables.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>

#include "aws_world.hpp"
#include "lockcore/aws/service_access.hpp"

namespace tenure::aws::test {
namespace {

namespace json = boost::json;

/// Null: no keys are found.
json::value textOrNull(const std::string& text) { return text.empty() ? json::value{} : json::value(text); }

class SharedFilesTest : public AwsTest {
 protected:
  /// As `found` in botocore_reads_files.py; {"refused": why} where no request could be sent.
  json::object found() {
    ServiceAccess access{{.service = "dynamodb"}, {environment_, network(), limits_}, logger()};
    const auto credentials = access.fetch({});
    const auto target = access.target();
    if (!target) return {{"refused", credentials.error().message}};
    const bool none = !credentials && credentials.error().message.starts_with("no AWS credentials found");
    if (!credentials && !none) return {{"refused", credentials.error().message}};
    return {{"key", credentials ? textOrNull(credentials->keys.accessKeyId) : nullptr},
            {"token", credentials ? textOrNull(credentials->keys.sessionToken) : nullptr},
            {"region", target->place.region},
            {"endpoint", net::toString(target->place.endpoint.origin)}};
  }

  void take(const json::object& given) {
    std::filesystem::remove_all(directory_.path() / ".aws");
    std::filesystem::create_directory(directory_.path() / ".aws");
    for (const char* name : {"config", "credentials"}) {
      if (const auto* text = given.if_contains(name)) {
        std::ofstream{path(std::string{".aws/"} + name), std::ios::binary} << std::string{text->as_string()};
      }
    }
    environment_.variables = {{"HOME", directory_.path().string()}, {"PATH", "/usr/bin:/bin"}};
    set("AWS_EC2_METADATA_DISABLED", "true");
    const auto* more = given.if_contains("environment");
    if (more == nullptr) return;
    for (const auto& one : more->as_object()) set(std::string{one.key()}, std::string{one.value().as_string()});
  }
};

/// The origin of a URL has its port.
json::object withPort(json::object verdict) {
  if (const auto* endpoint = verdict.if_contains("endpoint")) {
    verdict["endpoint"] = net::toString(net::parseUrl(std::string{endpoint->as_string()})->origin);
  }
  return verdict;
}

TEST_F(SharedFilesTest, areReadAsBotocoreReadsThem) {
  const char* other = std::getenv("SHARED_FILES_TABLE");
  std::ifstream file{other == nullptr ? TENURE_SHARED_FILES : other};
  std::stringstream text;
  text << file.rdbuf();
  const json::value table = json::parse(text.str());
  ASSERT_GE(table.as_array().size(), 60U);
  for (const json::value& one : table.as_array()) {
    const json::object& given = one.as_object();
    // "tenure" is there where more is read than botocore reads; "why" says why.
    const json::object& wanted =
        given.contains("tenure") ? given.at("tenure").as_object() : given.at("botocore").as_object();
    take(given);
    const json::object got = found();
    if (wanted.contains("refused")) {
      EXPECT_TRUE(got.contains("refused")) << given.at("name") << ": " << got;
    } else {
      EXPECT_EQ(json::serialize(got), json::serialize(withPort(wanted))) << given.at("name");
    }
  }
}

}  // namespace
}  // namespace tenure::aws::test
