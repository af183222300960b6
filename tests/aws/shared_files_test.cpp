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

/// A value of a form; its percent signs are decoded. Empty: it is not there.
std::string fieldOf(const std::string& form, const std::string& name) {
  const std::size_t found = ('&' + form).find('&' + name + '=');
  if (found == std::string::npos) return {};
  const std::size_t begin = found + name.size() + 1;
  std::string out;
  for (std::size_t i = begin; i < form.size() && form[i] != '&'; ++i) {
    const bool coded = form[i] == '%';
    out += coded ? static_cast<char>(std::stoi(form.substr(i + 1, 2), nullptr, 16)) : form[i];
    if (coded) i += 2;
  }
  return out;
}

/// A role's access key says what STS was asked for, as answerOfSts in botocore_reads_files.py.
net::HttpOutcome answerOfSts(const net::HttpRequest& request) {
  const std::string account = "arn:aws:iam::123456789012:role/";
  std::string key;
  for (const char* name :
       {"Action", "RoleArn", "RoleSessionName", "ExternalId", "DurationSeconds", "WebIdentityToken"}) {
    std::string value = fieldOf(request.body, name);
    if (value.starts_with(account)) value.erase(0, account.size());
    if (value == "tenure") value = "(generated)";
    if (!value.empty()) key += (key.empty() ? "" : " ") + value;
  }
  const std::string signature = headerOf(request, "Authorization");
  const std::size_t signer = signature.find("Credential=") + 11;
  if (!signature.empty()) key += " by " + signature.substr(signer, signature.find('/', signer) - signer);
  return reply(200, stsReply(Keys{key, "s", "t"}, std::chrono::hours{1}));
}

/// Null: no keys are found.
json::value textOrNull(const std::string& text) { return text.empty() ? json::value{} : json::value(text); }

class SharedFilesTest : public AwsTest {
 protected:
  /// As `found` in botocore_reads_files.py; {"refused": why} where no request could be sent.
  json::object found(const std::string& profile) {
    responder_ = [](const net::Origin& origin, const net::HttpRequest& request) -> net::HttpOutcome {
      return origin.host.starts_with("sts.") ? answerOfSts(request) : net::HttpOutcome{lost()};
    };
    ServiceAccess access{{.service = "dynamodb", .profile = profile}, {environment_, network(), limits_}, logger()};
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
      if (const auto* text = given.if_contains(name)) writeHere(std::string{".aws/"} + name, *text);
    }
    for (const auto& one : member(given, "files")) writeHere(std::string{one.key()}, one.value());
    environment_.variables = {{"HOME", directory_.path().string()}, {"PATH", "/usr/bin:/bin"}};
    set("AWS_EC2_METADATA_DISABLED", "true");
    for (const auto& one : member(given, "environment")) set(std::string{one.key()}, withHome(one.value()));
  }

 private:
  static json::object member(const json::object& given, const char* name) {
    const auto* found = given.if_contains(name);
    return found == nullptr ? json::object{} : found->as_object();
  }

  /// Where the table says {home}, which is not known before.
  [[nodiscard]] std::string withHome(const json::value& text) const {
    std::string out{text.as_string()};
    for (std::size_t at = 0; (at = out.find("{home}", at)) != std::string::npos;) {
      out.replace(at, 6, directory_.path().string());
    }
    return out;
  }

  void writeHere(const std::string& name, const json::value& text) const {
    std::ofstream{path(name), std::ios::binary} << withHome(text);
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
    const auto* profile = given.if_contains("profile");
    const json::object got = found(profile == nullptr ? "" : std::string{profile->as_string()});
    if (wanted.contains("refused")) {
      EXPECT_TRUE(got.contains("refused")) << given.at("name") << ": " << got;
    } else {
      EXPECT_EQ(json::serialize(got), json::serialize(withPort(wanted))) << given.at("name");
    }
  }
}

}  // namespace
}  // namespace tenure::aws::test
