#include "record_codec.hpp"

#include <algorithm>
#include <cstdint>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include "lockcore/port/json_text.hpp"
#include "lockcore/port/liveness_text.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/successor_text.hpp"
#include "record_members.hpp"

namespace tenure::etcd_store {
namespace {

using boost::json::object;

/// `,"name":`
std::string& startMember(std::string& out, std::string_view name) {
  out += out.empty() ? '{' : ',';
  appendQuoted(out, name);
  return out += ':';
}

void appendMember(std::string& out, std::string_view name, std::int64_t number) {
  appendInteger(startMember(out, name), number);
}

void appendMember(std::string& out, std::string_view name, std::string_view text) {
  appendQuoted(startMember(out, name), text);
}

void appendPayload(std::string& out, const LeaseRecord& record) {
  if (const auto attributes = attributesWithSuccessor(record); !attributes.empty()) {
    std::string inner;
    for (const auto& [name, text] : attributes) appendMember(inner, name, text);
    startMember(out, member::attributes) += inner += '}';
  }
  if (record.data.empty()) return;
  startMember(out, member::data) += '"';
  appendBase64(out, record.data);
  out += '"';
}

/// Reads a value member by member. The first one that makes no sense is kept as the fault.
class Reader {
 public:
  template <class Names>
  Reader(const object& from, const Names& known) : from_{from} {
    const auto* layout = from.if_contains(member::layout);
    if (layout == nullptr) {
      fault(member::layout, "is missing");
    } else if (!layout->is_int64() || layout->get_int64() != presentLayout) {
      fault(member::layout,
            "holds " + boost::json::serialize(*layout).substr(0, 40) + ", which another release writes");
    }
    for (const auto& one : from) {
      if (std::find(known.begin(), known.end(), std::string_view{one.key().data(), one.key().size()}) == known.end()) {
        fault({one.key().data(), one.key().size()}, "is unknown");
      }
    }
  }

  std::string text(std::string_view name) {
    const auto* found = from_.if_contains(name);
    const auto* text = found != nullptr ? found->if_string() : nullptr;
    if (text == nullptr || text->empty())
      fault(name, found == nullptr ? "is missing" : text == nullptr ? "is not a text" : "is empty");
    return text != nullptr ? std::string{text->data(), text->size()} : std::string{};
  }

  std::int64_t number(std::string_view name, std::int64_t low, std::int64_t high) {
    const auto* found = from_.if_contains(name);
    const bool good = found != nullptr && found->is_int64() && found->get_int64() >= low && found->get_int64() <= high;
    if (good) return found->get_int64();
    const std::string what = found == nullptr ? "is missing" : "holds " + boost::json::serialize(*found).substr(0, 40);
    fault(name, what + ", allowed is " + std::to_string(low) + " to " + std::to_string(high));
    return low;
  }

  FencingToken token(std::string_view name, std::int64_t least) {
    return FencingToken{static_cast<std::uint64_t>(number(name, least, signedToken(maxFencingToken)))};
  }

  std::chrono::milliseconds lease(std::string_view name, std::int64_t least) {
    return std::chrono::milliseconds{number(name, least, maxRecordLease.count())};
  }

  bool released() {
    const auto* found = from_.if_contains(member::released);
    if (found != nullptr && !found->is_bool()) fault(member::released, "is neither true nor false");
    return found != nullptr && found->is_bool() && found->get_bool();
  }

  std::string data() {
    const auto* found = from_.if_contains(member::data);
    if (found == nullptr) return {};
    const auto* text = found->if_string();
    auto bytes = text != nullptr ? bytesFromBase64({text->data(), text->size()}) : std::nullopt;
    if (!bytes) fault(member::data, "is not base64");
    return bytes ? std::move(*bytes) : std::string{};
  }

  std::map<std::string, std::string> attributes() {
    std::map<std::string, std::string> out;
    const auto* found = from_.if_contains(member::attributes);
    if (found == nullptr) return out;
    const auto* all = found->if_object();
    if (all == nullptr) fault(member::attributes, "is not an object");
    if (all == nullptr) return out;
    for (const auto& one : *all) {
      const auto* text = one.value().if_string();
      if (text == nullptr) fault(member::attributes, "has a value that is not a text");
      if (text != nullptr) out.emplace(one.key(), std::string{text->data(), text->size()});
    }
    return out;
  }

  /// For members that decide nothing: anything that is not a number counts as zero.
  [[nodiscard]] std::int64_t display(std::string_view name) const {
    const auto* found = from_.if_contains(name);
    return found != nullptr && found->is_int64() ? found->get_int64() : 0;
  }

  [[nodiscard]] std::optional<LivenessFile> livenessFile() const {
    const auto* found = from_.if_contains(member::livenessFile);
    const auto* text = found != nullptr ? found->if_string() : nullptr;
    return text != nullptr ? livenessFileFrom({text->data(), text->size()}) : std::nullopt;
  }

  void fault(std::string_view name, const std::string& what) {
    if (fault_.empty()) fault_ = inQuotes(name) + ' ' + what;
  }
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  const object& from_;
  std::string fault_;
};

}  // namespace

std::string textOf(const StoredRecord& stored) {
  const LeaseRecord& record = stored.record;
  std::string out;
  out.reserve(320 + record.data.size() / 3 * 4);
  appendMember(out, member::layout, presentLayout);
  appendMember(out, member::holder, record.holder);
  appendMember(out, member::lease, record.leaseDuration.count());
  appendMember(out, member::version, record.version.text());
  appendMember(out, member::token, signedToken(record.token));
  if (record.released) startMember(out, member::released) += "true";
  if (!stored.stepDown.isNone()) appendMember(out, member::stepDown, signedToken(stored.stepDown));
  appendMember(out, member::acquired, record.acquiredAtMillis);
  appendMember(out, member::renewed, record.renewedAtMillis);
  if (const auto& file = record.livenessFile) {
    appendMember(out, member::livenessFile, livenessText(*file));
  }
  appendPayload(out, record);
  return out += '}';
}

std::string textOf(const Counter& counter) {
  std::string out;
  appendMember(out, member::layout, presentLayout);
  appendMember(out, member::token, signedToken(counter.token));
  appendMember(out, member::openLease, counter.openLease.count());
  return out += '}';
}

StoreResult<StoredRecord> recordFrom(const Place& place, std::string_view text) {
  const auto parsed = valueObject(text);
  if (!parsed) return corruptValue(place, "there is no JSON object");
  Reader reader{*parsed, member::ofRecord};
  StoredRecord out;
  LeaseRecord& record = out.record;
  record.holder = reader.text(member::holder);
  record.leaseDuration = reader.lease(member::lease, 1);
  record.version = RecordVersion{reader.text(member::version)};
  record.token = reader.token(member::token, 1);
  record.released = reader.released();
  if (parsed->contains(member::stepDown)) out.stepDown = reader.token(member::stepDown, 0);
  record.data = reader.data();
  record.attributes = reader.attributes();
  takeSuccessor(record);
  if (!reader.fault().empty()) return corruptValue(place, reader.fault());
  record.livenessFile = reader.livenessFile();
  record.acquiredAtMillis = reader.display(member::acquired);
  record.renewedAtMillis = reader.display(member::renewed);
  return out;
}

StoreResult<Counter> counterFrom(const Place& place, std::string_view text) {
  const auto parsed = valueObject(text);
  if (!parsed) return corruptValue(place, "there is no JSON object");
  Reader reader{*parsed, member::ofCounter};
  const Counter counter{reader.token(member::token, 0), reader.lease(member::openLease, 0)};
  if (!reader.fault().empty()) return corruptValue(place, reader.fault());
  return counter;
}

}  // namespace tenure::etcd_store
