#include "replies.hpp"

#include <algorithm>
#include <optional>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/json_text.hpp"

namespace tenure::etcd_store {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

template <class T>
using Read = boost::system::result<T, Misunderstood>;

std::string_view viewOf(const boost::json::string& text) noexcept { return {text.data(), text.size()}; }

const object* objectIn(const object& from, std::string_view name) noexcept {
  const auto* found = from.if_contains(name);
  return found != nullptr ? found->if_object() : nullptr;
}

Read<object> objectFrom(std::string_view text) {
  boost::system::error_code fault;
  value parsed = boost::json::parse(text, fault);
  if (fault || !parsed.is_object()) return Misunderstood{"the answer is not a JSON object"};
  return std::move(parsed.get_object());
}

/// A 64-bit number is a text. What is absent is 0. Empty: it is neither.
std::optional<std::int64_t> numberIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  if (found == nullptr) return 0;
  const auto* digits = found->if_string();
  const auto number = digits != nullptr ? numberFrom<std::int64_t>(viewOf(*digits)) : std::nullopt;
  if (!number || *number < 0) return std::nullopt;
  return number;
}

/// What is absent is false.
std::optional<bool> flagIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  if (found == nullptr) return false;
  if (!found->is_bool()) return std::nullopt;
  return found->get_bool();
}

/// Bytes are base64. What is absent is empty.
std::optional<std::string> bytesIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  if (found == nullptr) return std::string{};
  const auto* text = found->if_string();
  return text != nullptr ? bytesFromBase64(viewOf(*text)) : std::nullopt;
}

std::optional<KeyValue> entryFrom(const object& from) {
  auto key = bytesIn(from, "key");
  auto text = bytesIn(from, "value");
  const auto changedAt = numberIn(from, "mod_revision");
  if (!key || key->empty() || !text || !changedAt || *changedAt == 0) return std::nullopt;
  return KeyValue{std::move(*key), std::move(*text), *changedAt};
}

/// What is absent is an empty list. Empty: it is no list of objects.
std::optional<std::vector<const object*>> listIn(const object& from, std::string_view name) {
  std::vector<const object*> out;
  const auto* found = from.if_contains(name);
  if (found == nullptr) return out;
  const array* list = found->if_array();
  if (list == nullptr) return std::nullopt;
  for (const value& one : *list) {
    out.push_back(one.if_object());
    if (out.back() == nullptr) return std::nullopt;
  }
  return out;
}

std::optional<Part> readPartFrom(const object& from) {
  Part part{Part::Kind::read};
  const auto entries = listIn(from, "kvs");
  const auto more = flagIn(from, "more");
  const auto count = numberIn(from, "count");
  if (!entries || !more || !count || !from.contains("header")) return std::nullopt;
  // A part that contradicts itself may hide a key.
  if (!*more && *count != static_cast<std::int64_t>(entries->size())) return std::nullopt;
  part.more = *more;
  for (const object* one : *entries) {
    auto entry = entryFrom(*one);
    if (!entry) return std::nullopt;
    part.found.push_back(std::move(*entry));
  }
  return part;
}

/// No key has changed after the revision of the answer.
bool isOfThePast(const Part& part, std::int64_t revision) {
  return std::all_of(part.found.begin(), part.found.end(),
                     [&](const KeyValue& one) { return one.changedAt <= revision; });
}

std::optional<Part> partFrom(const object& from) {
  if (from.size() != 1) return std::nullopt;
  if (const object* put = objectIn(from, "response_put")) {
    return put->contains("header") ? std::optional{Part{Part::Kind::put}} : std::nullopt;
  }
  if (const object* read = objectIn(from, "response_range")) return readPartFrom(*read);
  const object* erased = objectIn(from, "response_delete_range");
  const auto count = erased != nullptr && erased->contains("header") ? numberIn(*erased, "deleted") : std::nullopt;
  if (!count) return std::nullopt;
  Part part{Part::Kind::erase};
  part.erased = *count;
  return part;
}

std::string textIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  const auto* text = found != nullptr ? found->if_string() : nullptr;
  return text != nullptr ? std::string{viewOf(*text)} : std::string{};
}

/// Why a line says that its watch has ended; empty: it does not.
std::string endIn(const object& line, const object* result) {
  if (const object* error = objectIn(line, "error")) return "the member says: " + textIn(*error, "message");
  if (result == nullptr || line.contains("error")) return "a line of the watch is not understood";
  const auto compacted = numberIn(*result, "compact_revision");
  const auto canceled = flagIn(*result, "canceled");
  if (!canceled || !compacted) return "a line of the watch is not understood";
  if (*compacted != 0) return "the watch's revision was compacted";
  if (*canceled) return "the member has cancelled the watch: " + textIn(*result, "cancel_reason");
  return {};
}

}  // namespace

Read<TxnReply> txnReplyFrom(std::string_view body) {
  const auto whole = objectFrom(body);
  if (!whole) return whole.error();
  const object* header = objectIn(*whole, "header");
  const auto revision = header != nullptr ? numberIn(*header, "revision") : std::nullopt;
  if (!revision || *revision == 0) return Misunderstood{"the answer has no revision"};
  const auto succeeded = flagIn(*whole, "succeeded");
  const auto parts = listIn(*whole, "responses");
  if (!succeeded || !parts || whole->contains("error")) return Misunderstood{"the answer is not that of a transaction"};
  TxnReply reply{*revision, *succeeded};
  for (const object* one : *parts) {
    auto part = partFrom(*one);
    if (!part || !isOfThePast(*part, *revision)) return Misunderstood{"a part of the answer is not understood"};
    reply.parts.push_back(std::move(*part));
  }
  return reply;
}

Read<WatchLine> watchLineFrom(std::string_view text) {
  const auto line = objectFrom(text);
  if (!line) return line.error();
  const object* result = objectIn(*line, "result");
  if (std::string end = endIn(*line, result); !end.empty()) return Misunderstood{std::move(end)};
  const auto created = flagIn(*result, "created");
  const auto events = listIn(*result, "events");
  if (!created || !events) return Misunderstood{"a line of the watch is not understood"};
  WatchLine out{*created};
  for (const object* one : *events) {
    const std::string type = textIn(*one, "type");
    const object* entry = objectIn(*one, "kv");
    auto found = entry != nullptr ? entryFrom(*entry) : std::nullopt;
    if (!found || (one->contains("type") && type != "DELETE" && type != "PUT"))
      return Misunderstood{"an event of the watch is not understood"};
    out.events.push_back({type == "DELETE", std::move(*found)});
  }
  return out;
}

}  // namespace tenure::etcd_store
