#include "aws_world.hpp"

#include <clocale>
#include <ctime>

namespace tenure::aws::test {
namespace {

std::string formatted(std::int64_t since1970, const char* format) {
  const auto seconds = static_cast<std::time_t>(since1970);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return {text, strftime_l(text, sizeof text, format, &parts, plain)};
}

}  // namespace

AwsTest::AwsTest() {
  environment_.wallClockMillis = [wall = sharedWall_] { return wall->load() * 1000; };
  environment_.variables = {{"HOME", directory_.path().string()},
                            {"PATH", "/usr/bin:/bin"},
                            {"AWS_CONFIG_FILE", path("config")},
                            {"AWS_SHARED_CREDENTIALS_FILE", path("credentials")}};
  responder_ = [](const net::Origin&, const net::HttpRequest&) -> net::HttpOutcome { return lost(); };
}

AwsTest::~AwsTest() {
  const std::string seen = logged();
  EXPECT_EQ(seen.find(secretMark), std::string::npos) << "a secret in: " << seen;
}

void AwsTest::write(const std::string& name, const std::string& text) const { std::ofstream{path(name)} << text; }

FetchContext AwsTest::context(const SharedConfig& config) {
  HttpClientFactory make = network();
  auto http = make({});
  return {environment_,      config,   std::move(http), std::move(make), clock_,
          stop_.get_token(), logger(), limits_,         region_};
}

StoreResult<Credentials> AwsTest::find(const ChainWishes& wishes) {
  const SharedConfig config = SharedConfig::load(environment_);
  FetchContext with = context(config);
  with.profile = wishes.profile;
  return findCredentials(with, wishes);
}

std::string AwsTest::error(const StoreResult<Credentials>& result) {
  if (result) return "(no error)";
  EXPECT_EQ(result.error().errorClass, ErrorClass::credentials);
  watch(result.error().message);
  return result.error().message;
}

void AwsTest::Seen::add(std::string_view line) {
  const std::lock_guard lock{mutex};
  text.append(line).push_back('\n');
}

void AwsTest::watch(const std::string& text) { seen_->add(text); }

Logger AwsTest::logger() {
  return Logger{LogLevel::trace, [seen = seen_](LogLevel, std::string_view line) { seen->add(line); }};
}

std::string AwsTest::logged() const {
  const std::lock_guard lock{seen_->mutex};
  return seen_->text;
}

HttpClientFactory AwsTest::network() {
  return [this](const net::HttpClientOptions&) {
    return fakeClient([this](const auto& origin, const auto& request) { return responder_(origin, request); },
                      requests_, held_);
  };
}

std::string stsReply(const std::string& accessKeyId, std::chrono::seconds lifetime) {
  return stsReply(Keys{accessKeyId, secretKey, tokenText}, lifetime);
}

std::string stsReply(const Keys& keys, std::chrono::seconds lifetime) {
  return "<AssumeRoleResponse><AssumeRoleResult><Credentials>\n<AccessKeyId>" + keys.accessKeyId +
         "</AccessKeyId><SecretAccessKey>" + keys.secretAccessKey + "</SecretAccessKey><SessionToken>" +
         keys.sessionToken + "</SessionToken><Expiration>" + isoTime(noon + lifetime.count()) +
         "</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>";
}

std::string metadataKeys(const std::string& accessKeyId, const std::string& expiration) {
  return R"({"Code":"Success","AccessKeyId":")" + accessKeyId + R"(","SecretAccessKey":")" + secretKey +
         R"(","Token":")" + tokenText + R"(","Expiration":")" + expiration + "\"}";
}

std::string keysJson(const Keys& keys, std::chrono::seconds lifetime) {
  return R"({"AccessKeyId":")" + keys.accessKeyId + R"(","SecretAccessKey":")" + keys.secretAccessKey +
         R"(","Token":")" + keys.sessionToken + R"(","Expiration":")" + isoTime(noon + lifetime.count()) + "\"}";
}

std::string isoTime(std::int64_t since1970) { return formatted(since1970, "%Y-%m-%dT%H:%M:%SZ"); }
std::string httpDate(std::int64_t since1970) { return formatted(since1970, "%a, %d %b %Y %H:%M:%S GMT"); }

}  // namespace tenure::aws::test
