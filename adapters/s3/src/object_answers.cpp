#include "object_answers.hpp"

#include <algorithm>
#include <array>

namespace tenure::s3_fence {
namespace {

using Kind = ObjectAnswer::Kind;

struct Rule {
  std::string_view code;
  Kind kind;
  ErrorClass errorClass;
};

// What S3 says with a status 4xx. All others of these need the person who set it up.
constexpr std::array rules{
    Rule{"PreconditionFailed", Kind::refused, ErrorClass::transient},
    Rule{"ConditionalRequestConflict", Kind::refused, ErrorClass::transient},
    Rule{"OperationAborted", Kind::again, ErrorClass::transient},
    Rule{"RequestTimeout", Kind::again, ErrorClass::transient},
    Rule{"InvalidRange", Kind::empty, ErrorClass::corrupt},
    Rule{"NoSuchKey", Kind::absent, ErrorClass::transient},
    Rule{"SlowDown", Kind::again, ErrorClass::throttled},
    Rule{"TooManyRequests", Kind::again, ErrorClass::throttled},
    Rule{"Throttl", Kind::again, ErrorClass::throttled},
    Rule{"AccessDenied", Kind::failed, ErrorClass::credentials},
    Rule{"InvalidAccessKeyId", Kind::failed, ErrorClass::credentials},
    Rule{"Signature", Kind::failed, ErrorClass::credentials},
    Rule{"Token", Kind::failed, ErrorClass::credentials},
    Rule{"RequestTimeTooSkewed", Kind::failed, ErrorClass::credentials},
};

/// For answers without a code, which proxies and some servers give.
Rule byStatus(int status) {
  switch (status) {
    case 409:
    case 412:
      return {{}, Kind::refused, ErrorClass::transient};
    case 408:
      return {{}, Kind::again, ErrorClass::transient};
    case 429:
      return {{}, Kind::again, ErrorClass::throttled};
    case 401:
    case 403:
      return {{}, Kind::failed, ErrorClass::credentials};
    default:
      return {{}, Kind::failed, ErrorClass::misconfigured};
  }
}

Rule ruleFor(int status, std::string_view code) {
  // Whatever name the error has, a server that failed may have carried out the request before. 501 says that it cannot
  // do it.
  if (status == 501) return {{}, Kind::failed, ErrorClass::misconfigured};
  if (status >= 500) {
    return {{}, Kind::again, code == "SlowDown" ? ErrorClass::throttled : ErrorClass::transient};
  }
  if (code.empty()) return byStatus(status);
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const Rule& one) { return code.find(one.code) != std::string_view::npos; });
  if (rule == rules.end()) return {{}, Kind::failed, ErrorClass::misconfigured};
  // That there is no object, and so no token, is believed only if S3 says it with its own code.
  if (rule->kind == Kind::absent && (status != 404 || code != rule->code)) {
    return {{}, Kind::failed, ErrorClass::misconfigured};
  }
  return *rule;
}

}  // namespace

ObjectAnswer answerOf(const std::string& where, aws::ObjectOutcome outcome) {
  if (!outcome) {
    const bool passes = outcome.error().error.errorClass == ErrorClass::transient;
    StoreError error = outcome.error().error;
    error.message = where + ": " + error.message;
    return {passes ? Kind::again : Kind::failed, 0, {}, std::move(error), outcome.error().maybeSent};
  }
  if (outcome->status >= 200 && outcome->status < 300)
    return {Kind::done, outcome->status, *std::move(outcome), {}, false};
  const std::string_view code = textIn(outcome->body, "Code");
  const std::string_view message = textIn(outcome->body, "Message");
  const Rule rule = ruleFor(outcome->status, code);
  std::string text =
      where + ": " + (code.empty() ? "status " + std::to_string(outcome->status) : std::string{code.substr(0, 100)});
  if (!message.empty()) text.append(": ").append(message.substr(0, 300));
  return {rule.kind,
          outcome->status,
          {},
          {rule.errorClass, std::move(text)},
          outcome->status >= 500 && outcome->status != 501};
}

bool isStrongEtag(std::string_view etag) noexcept {
  if (etag.size() < 2 || etag.front() != '"' || etag.back() != '"') return false;
  const std::string_view inside = etag.substr(1, etag.size() - 2);
  return std::all_of(inside.begin(), inside.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != '"' && byte != 0x7f;
  });
}

std::string_view textIn(std::string_view xml, std::string_view tag) noexcept {
  for (std::size_t at = xml.find('<'); at != std::string_view::npos; at = xml.find('<', at + 1)) {
    std::string_view rest = xml.substr(at + 1);
    if (!rest.starts_with(tag) || rest.substr(tag.size(), 1) != ">") continue;
    rest.remove_prefix(tag.size() + 1);
    return rest.substr(0, rest.find('<'));
  }
  return {};
}

}  // namespace tenure::s3_fence
