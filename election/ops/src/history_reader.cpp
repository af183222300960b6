#include <algorithm>
#include <optional>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "client.hpp"
#include "json_reading.hpp"

namespace tenure::ops {
namespace {

namespace json = boost::json;

const AskFault notHistory{"the answer is not tenure's history; is there another program at that address?"};

std::optional<TermEvent::Kind> kindOf(const std::string& text) {
  using Kind = TermEvent::Kind;
  for (const Kind kind : {Kind::elected, Kind::revoked, Kind::doubtBegan, Kind::doubtEnded, Kind::refused}) {
    if (toString(kind) == text) return kind;
  }
  return std::nullopt;
}

std::optional<RevokeReason> reasonOf(const std::string& text) {
  const auto found = std::find(revokeReasonNames.begin(), revokeReasonNames.end(), text);
  if (found == revokeReasonNames.end()) return std::nullopt;
  return static_cast<RevokeReason>(found - revokeReasonNames.begin());
}

std::optional<TermEvent> eventOf(const json::value& from) {
  const json::object* object = from.if_object();
  const auto kind = object != nullptr ? kindOf(textOf(*object, "event")) : std::nullopt;
  if (!kind) return std::nullopt;
  TermEvent event{*kind};
  event.token = tokenOf(*object, "fencing_token");
  event.atMillis = numberOf(*object, "at_ms");
  event.reason = reasonOf(textOf(*object, "reason"));
  event.detail = textOf(*object, "detail");
  return event;
}

}  // namespace

boost::system::result<std::vector<GroupEvents>, AskFault> parseHistory(const std::string& text) {
  boost::system::error_code wrong;
  const json::value whole = json::parse(text, wrong);
  const json::object* top = wrong ? nullptr : whole.if_object();
  const json::value* groups = top != nullptr ? top->if_contains("groups") : nullptr;
  if (groups == nullptr || !groups->is_array()) return notHistory;
  std::vector<GroupEvents> out;
  for (const json::value& each : groups->get_array()) {
    const json::object* group = each.if_object();
    const json::value* events = group != nullptr ? group->if_contains("events") : nullptr;
    if (events == nullptr || !events->is_array()) return notHistory;
    out.push_back({textOf(*group, "group"), {}});
    for (const json::value& one : events->get_array()) {
      if (auto event = eventOf(one)) out.back().events.push_back(*std::move(event));
    }
  }
  return out;
}

}  // namespace tenure::ops
