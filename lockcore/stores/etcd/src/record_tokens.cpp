// What an operator sees of the values, and corrects in them, also where they are not understood.
#include <algorithm>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/saturating_time.hpp"
#include "record_members.hpp"

namespace tenure::etcd_store {
namespace {

using boost::json::object;

/// A number as it is written there; anything else in the same way, so that two that differ are told apart.
std::string rawIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  return found != nullptr ? boost::json::serialize(*found) : std::string{};
}

std::string wordsIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  const auto* text = found != nullptr ? found->if_string() : nullptr;
  return text != nullptr ? std::string{text->data(), text->size()} : std::string{};
}

std::chrono::milliseconds leaseIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  if (found == nullptr || !found->is_number()) return std::chrono::milliseconds{0};
  return found->is_int64() ? saturating::leaseOf(found->get_int64()) : maxRecordLease;
}

}  // namespace

StoreResult<StoredTokens> tokensFrom(const Place& place, const std::optional<std::string>& record,
                                     const std::optional<std::string>& counter) {
  StoredTokens out;
  if (counter) {
    const auto parsed = valueObject(*counter);
    out.counter = parsed && parsed->contains(member::token) ? rawIn(*parsed, member::token) : *counter;
    if (out.counter.empty()) out.counter = "(empty)";
    if (parsed) out.lease = leaseIn(*parsed, member::openLease);
  }
  if (!record) return out;
  const auto parsed = valueObject(*record);
  if (!parsed || wordsIn(*parsed, member::version).empty())
    return corruptValue(place, "there is no record with a version");
  out.copy = rawIn(*parsed, member::token);
  out.version = wordsIn(*parsed, member::version);
  out.holder = wordsIn(*parsed, member::holder);
  const auto* released = parsed->if_contains(member::released);
  out.released = released != nullptr && released->is_bool() && released->get_bool();
  out.lease = std::max(out.lease, leaseIn(*parsed, member::lease));
  return out;
}

std::string corrected(std::string_view record, FencingToken token, const std::string& version) {
  object changed = *valueObject(record);
  changed[member::token] = signedToken(token);
  changed[member::version] = version;
  changed[member::released] = true;
  changed.erase(member::stepDown);
  changed.erase(member::livenessFile);
  return boost::json::serialize(changed);
}

std::optional<boost::json::object> valueObject(std::string_view text) {
  boost::system::error_code fault;
  boost::json::value parsed = boost::json::parse(text, fault);
  if (fault || !parsed.is_object()) return std::nullopt;
  return std::move(parsed.get_object());
}

StoreError corruptValue(const Place& place, const std::string& fault) {
  return {
      ErrorClass::corrupt,
      place.store + ": lease " + toString(place.lease) + ": " + fault + " in the value of key " + inQuotes(place.key) +
          ". This release of tenure writes no such value: it was probably edited by hand, or written by another "
          "program or a newer release. It is left as it is, and no candidate can take the lease until it is repaired "
          "(`etcdctl get`, `etcdctl put`). If a token is too high, use `tenure fence recover`"};
}

}  // namespace tenure::etcd_store
