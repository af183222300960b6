#include <array>
#include <optional>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <tenure/ops/client.hpp>

#include "json_reading.hpp"

namespace tenure::ops {
namespace {

namespace json = boost::json;

const AskFault notHistory{"the answer is no history of tenure; is there another program at that address?"};

template <class Word, std::size_t Count>
std::optional<Word> wordOf(const std::string& text, const std::array<Word, Count>& words) {
  for (const Word word : words) {
    if (toString(word) == text) return word;
  }
  return std::nullopt;
}

std::optional<TermEvent> eventOf(const json::value& from) {
  using Kind = TermEvent::Kind;
  static constexpr std::array kinds{Kind::elected, Kind::revoked, Kind::doubtBegan, Kind::doubtEnded, Kind::refused};
  static constexpr std::array reasons{
      RevokeReason::stopped,       RevokeReason::steppedDown,      RevokeReason::expired, RevokeReason::lost,
      RevokeReason::recordMissing, RevokeReason::storeUnreachable, RevokeReason::fatal,   RevokeReason::notStarted};
  const json::object* object = from.if_object();
  const auto kind = object != nullptr ? wordOf(textOf(*object, "event"), kinds) : std::nullopt;
  if (!kind) return std::nullopt;
  TermEvent event{*kind};
  event.token = tokenOf(*object, "fencing_token");
  event.atMillis = numberOf(*object, "at_ms");
  event.reason = wordOf(textOf(*object, "reason"), reasons);
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
