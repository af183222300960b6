#include <boost/json.hpp>

#include "lockcore/aws/refresh_plan.hpp"
#include "lockcore/aws/text.hpp"
#include "providers.hpp"

namespace tenure::aws {
namespace {

namespace json = boost::json;

std::string textOf(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string{value->get_string()};
}

std::string missingName(const Keys& keys, const JsonKeyNames& names) {
  if (keys.accessKeyId.empty()) return "AccessKeyId";
  if (keys.secretAccessKey.empty()) return "SecretAccessKey";
  // Metadata services only give temporary keys, which are useless without their token.
  if (keys.sessionToken.empty() && !names.versionOne) return names.sessionToken;
  return {};
}

bool isVersionOne(const json::object& object) {
  const json::value* version = object.if_contains("Version");
  return version != nullptr && version->is_number() && version->to_number<double>() == 1.0;
}

/// The lifetime of `out`. Empty, or what is wrong with it.
std::string readEnd(Credentials& out, const json::object& object, const FetchContext& context, JsonKeyNames names,
                    std::string_view dateHeader) {
  const json::value* expiration = object.if_contains("Expiration");
  if (expiration == nullptr || expiration->is_null()) return {};
  const std::string text = textOf(object, "Expiration");
  const auto at = parseIsoTime(text);
  if (!at) return "gave an \"Expiration\" that is not a time such as 2026-11-21T12:00:00Z";
  out.lifetime = context.lifetimeUntil(*at, dateHeader);
  if (out.lifetime->count() > 0) return {};
  if (!names.expiredServeOn) {
    return "gave credentials that have expired already; check the clock of this machine, and the source of the "
           "credentials";
  }
  out.lifetime = extension;
  out.warning =
      out.source + " gave credentials that expired at " + oneLine(text, 40) +
      "; they are used on, because AWS may be unable to issue others now; the next attempt is within 10 min, or when "
      "AWS refuses these";
  return {};
}

}  // namespace

StoreResult<Credentials> credentialsFromJson(const FetchContext& context, const std::string& source,
                                             std::string_view text, JsonKeyNames names, std::string_view dateHeader) {
  const auto wrong = [&](const std::string& what) { return StoreError{ErrorClass::credentials, source + ' ' + what}; };
  boost::system::error_code unreadable;
  const json::value parsed = json::parse(text, unreadable);
  if (unreadable || !parsed.is_object()) {
    return wrong("gave no JSON object (" + std::to_string(text.size()) + " bytes, not shown: they may hold a secret)");
  }
  const json::object& object = parsed.get_object();
  if (names.versionOne && !isVersionOne(object))
    return wrong("gave JSON without \"Version\": 1, the only known version");
  Credentials out{
      {textOf(object, "AccessKeyId"), textOf(object, "SecretAccessKey"), textOf(object, names.sessionToken)},
      std::nullopt,
      source};
  if (const std::string missing = missingName(out.keys, names); !missing.empty()) {
    return wrong("gave JSON without \"" + missing + "\"");
  }
  if (const std::string unfit = unfitIn(out.keys, {"AccessKeyId", "SecretAccessKey", names.sessionToken});
      !unfit.empty()) {
    return wrong("gave JSON in which " + unfit);
  }
  if (const std::string unfit = readEnd(out, object, context, names, dateHeader); !unfit.empty()) return wrong(unfit);
  return out;
}

}  // namespace tenure::aws
