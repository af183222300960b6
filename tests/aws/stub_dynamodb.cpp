#include "stub_dynamodb.hpp"

#include "aws_world.hpp"
#include "lockcore/aws/sigv4.hpp"
#include "lockcore/aws/text.hpp"

namespace tenure::aws::test {
namespace {

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return {};
  return text.substr(from + begin.size(), text.find(end, from) - from - begin.size());
}

std::string expectedAuthorization(const net::HttpRequest& request, const Keys& keys, const std::string& scopeText,
                                  const std::string& names) {
  const auto parts = split(scopeText, '/');
  if (parts.size() < 4) return {};
  SignableRequest signable{request.method, request.target, {}, hex(sha256({request.body}))};
  for (const std::string_view name : split(names, ';')) {
    std::string value = headerOf(request, std::string{name});
    // The fake client passes requests on unchanged, without the Host header that a real client adds.
    if (name == "host" && value.empty()) value = "dynamodb.eu-central-1.amazonaws.com";
    signable.headers.push_back({std::string{name}, std::move(value)});
  }
  const Scope scope{std::string{parts[1]}, std::string{parts[2]}, std::string{parts[3]}};
  return authorization(keys, headerOf(request, "X-Amz-Date"), scope, canonicalRequest(signable));
}

std::chrono::seconds timeOf(const std::string& date) {  // 20261121T120000Z
  if (date.size() != 16) return std::chrono::seconds{0};
  return parseIsoTime(date.substr(0, 4) + '-' + date.substr(4, 2) + '-' + date.substr(6, 5) + ':' + date.substr(11, 2) +
                      ':' + date.substr(13))
      .value_or(std::chrono::seconds{0});
}

}  // namespace

void StubDynamoDb::allow(const Keys& keys, Clock::time_point until) {
  const std::lock_guard lock{mutex_};
  known_[keys.accessKeyId] = {keys, until};
}

void StubDynamoDb::expireAll() {
  const std::lock_guard lock{mutex_};
  for (auto& [id, known] : known_) known.until = {};
}

std::string StubDynamoDb::fault(const net::HttpRequest& request) const {
  const std::string given = headerOf(request, "Authorization");
  const std::string scope = between(given, "Credential=", ",");
  const auto known = known_.find(scope.substr(0, scope.find('/')));
  if (known == known_.end()) return "UnrecognizedClientException";
  const auto apart = timeOf(headerOf(request, "X-Amz-Date")).count() - wall_();
  if (apart > 300 || apart < -300) return "InvalidSignatureException";
  const Keys& keys = known->second.keys;
  if (keys.sessionToken != headerOf(request, "X-Amz-Security-Token")) return "UnrecognizedClientException";
  if (given != expectedAuthorization(request, keys, scope, between(given, "SignedHeaders=", ","))) {
    return "InvalidSignatureException";
  }
  return known->second.until <= Clock::now() ? "ExpiredTokenException" : "";
}

net::HttpOutcome StubDynamoDb::answer(const net::HttpRequest& request) {
  const std::lock_guard lock{mutex_};
  const std::string code = fault(request);
  ++(code.empty() ? served_ : refused_);
  const std::vector<net::HttpHeader> headers{{"Date", httpDate(wall_())}, {"x-amzn-RequestId", "REQUEST1"}};
  if (code.empty()) return reply(200, R"({"done":true})", headers);
  return reply(400, R"({"__type":"com.amazon.coral.service#)" + code + R"(","message":"no"})", headers);
}

int StubDynamoDb::served() const {
  const std::lock_guard lock{mutex_};
  return served_;
}

int StubDynamoDb::refused() const {
  const std::lock_guard lock{mutex_};
  return refused_;
}

}  // namespace tenure::aws::test
