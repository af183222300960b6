#include "record_codec.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "lockcore/port/json_text.hpp"
#include "lockcore/port/number_text.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::etcd_store {
namespace {

using boost::json::object;
using boost::json::value;

constexpr std::int64_t presentLayout = 1;

namespace member {
constexpr std::string_view layout = "tenureLayout";
constexpr std::string_view holder = "ownerName";
constexpr std::string_view lease = "leaseDuration";
constexpr std::string_view version = "recordVersionNumber";
constexpr std::string_view token = "tenureToken";
constexpr std::string_view released = "isReleased";
constexpr std::string_view stepDown = "tenureStepDown";
constexpr std::string_view acquired = "tenureAcquiredMillis";
constexpr std::string_view renewed = "tenureRenewedMillis";
constexpr std::string_view livenessFile = "tenureBeacon";
constexpr std::string_view attributes = "tenureAttributes";
constexpr std::string_view data = "data";
constexpr std::string_view openLease = "tenureOpenLease";

constexpr std::array ofRecord{layout,   holder,   lease,   version,      token,      released,
                              stepDown, acquired, renewed, livenessFile, attributes, data};
constexpr std::array ofCounter{layout, token, openLease};
}  // namespace member

/// `,"name":`
std::string& startMember(std::string& out, std::string_view name) {
  out += out.empty() ? '{' : ',';
  appendQuoted(out, name);
  return out += ':';
}

void appendNumber(std::string& out, std::string_view name, std::int64_t number) {
  appendInteger(startMember(out, name), number);
}

void appendText(std::string& out, std::string_view name, std::string_view text) {
  appendQuoted(startMember(out, name), text);
}

std::int64_t signedToken(FencingToken token) { return static_cast<std::int64_t>(token.value()); }

void appendPayload(std::string& out, const LeaseRecord& record) {
  if (!record.attributes.empty()) {
    std::string inner;
    for (const auto& [name, text] : record.attributes) appendText(inner, name, text);
    startMember(out, member::attributes) += inner += '}';
  }
  if (record.data.empty()) return;
  startMember(out, member::data) += '"';
  appendBase64(out, record.data);
  out += '"';
}

std::optional<object> objectFrom(std::string_view text) {
  boost::system::error_code fault;
  value parsed = boost::json::parse(text, fault);
  if (fault || !parsed.is_object()) return std::nullopt;
  return std::move(parsed.get_object());
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
      fault(name, found == nullptr ? "is missing" : text == nullptr ? "is no text" : "is empty");
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
    if (all == nullptr) fault(member::attributes, "is no object");
    if (all == nullptr) return out;
    for (const auto& one : *all) {
      const auto* text = one.value().if_string();
      if (text == nullptr) fault(member::attributes, "has a value that is no text");
      if (text != nullptr) out.emplace(one.key(), std::string{text->data(), text->size()});
    }
    return out;
  }

  /// For members that decide nothing: anything that is not a number counts as zero.
  [[nodiscard]] std::int64_t display(std::string_view name) const {
    const auto* found = from_.if_contains(name);
    return found != nullptr && found->is_int64() ? found->get_int64() : 0;
  }

  /// An incomplete entry proves nothing, just like a missing one.
  [[nodiscard]] std::optional<LivenessFile> livenessFile() const {
    const auto* found = from_.if_contains(member::livenessFile);
    const auto* text = found != nullptr ? found->if_string() : nullptr;
    std::string_view rest = text != nullptr ? std::string_view{text->data(), text->size()} : std::string_view{};
    const auto next = [&rest] {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      return word;
    };
    const auto device = numberFrom<std::uint64_t>(next());
    const auto inode = numberFrom<std::uint64_t>(next());
    const std::string bootId{next()};
    if (!device || !inode || bootId.empty() || rest.empty()) return std::nullopt;
    return LivenessFile{std::string{rest}, bootId, *device, *inode};
  }

  void fault(std::string_view name, const std::string& what) {
    if (fault_.empty()) fault_ = inQuotes(name) + ' ' + what;
  }
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  const object& from_;
  std::string fault_;
};

StoreError corruptValue(const Place& place, const std::string& fault) {
  return {ErrorClass::corrupt,
          place.store + ": lease " + toString(place.lease) + ": " + fault + " in the value of key " +
              inQuotes(place.key) +
              ". This release of tenure writes no such value: it was probably edited by hand, or written by another "
              "program or a newer release. It is left as it is, and nobody can take the lease until it is put right "
              "(`etcdctl get`, `etcdctl put`). If a token is too high, use `tenure fence recover`"};
}

/// A number as it is written there; anything else in the same way, so that two that differ are told apart.
std::string rawIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  return found != nullptr ? boost::json::serialize(*found) : std::string{};
}

std::string textIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  const auto* text = found != nullptr ? found->if_string() : nullptr;
  return text != nullptr ? std::string{text->data(), text->size()} : std::string{};
}

std::chrono::milliseconds leaseIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  const std::int64_t millis = found != nullptr && found->is_int64() ? found->get_int64() : 0;
  return std::chrono::milliseconds{std::clamp<std::int64_t>(millis, 0, maxRecordLease.count())};
}

}  // namespace

std::string textOf(const StoredRecord& stored) {
  const LeaseRecord& record = stored.record;
  std::string out;
  out.reserve(320 + record.data.size() / 3 * 4);
  appendNumber(out, member::layout, presentLayout);
  appendText(out, member::holder, record.holder);
  appendNumber(out, member::lease, record.leaseDuration.count());
  appendText(out, member::version, record.version.text());
  appendNumber(out, member::token, signedToken(record.token));
  if (record.released) startMember(out, member::released) += "true";
  if (!stored.stepDown.isNone()) appendNumber(out, member::stepDown, signedToken(stored.stepDown));
  appendNumber(out, member::acquired, record.acquiredAtMillis);
  appendNumber(out, member::renewed, record.renewedAtMillis);
  if (const auto& file = record.livenessFile) {
    appendText(out, member::livenessFile,
               std::to_string(file->device) + ' ' + std::to_string(file->inode) + ' ' + file->bootId + ' ' + file->id);
  }
  appendPayload(out, record);
  return out += '}';
}

std::string textOf(const Counter& counter) {
  std::string out;
  appendNumber(out, member::layout, presentLayout);
  appendNumber(out, member::token, signedToken(counter.token));
  appendNumber(out, member::openLease, counter.openLease.count());
  return out += '}';
}

StoreResult<StoredRecord> recordFrom(const Place& place, std::string_view text) {
  const auto parsed = objectFrom(text);
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
  if (!reader.fault().empty()) return corruptValue(place, reader.fault());
  record.livenessFile = reader.livenessFile();
  record.acquiredAtMillis = reader.display(member::acquired);
  record.renewedAtMillis = reader.display(member::renewed);
  return out;
}

StoreResult<Counter> counterFrom(const Place& place, std::string_view text) {
  const auto parsed = objectFrom(text);
  if (!parsed) return corruptValue(place, "there is no JSON object");
  Reader reader{*parsed, member::ofCounter};
  const Counter counter{reader.token(member::token, 0), reader.lease(member::openLease, 0)};
  if (!reader.fault().empty()) return corruptValue(place, reader.fault());
  return counter;
}

StoreResult<StoredTokens> tokensFrom(const Place& place, const std::optional<std::string>& record,
                                     const std::optional<std::string>& counter) {
  StoredTokens out;
  if (counter) {
    const auto parsed = objectFrom(*counter);
    out.counter = parsed && parsed->contains(member::token) ? rawIn(*parsed, member::token) : *counter;
    if (out.counter.empty()) out.counter = "(empty)";
    if (parsed) out.lease = leaseIn(*parsed, member::openLease);
  }
  if (!record) return out;
  const auto parsed = objectFrom(*record);
  if (!parsed || textIn(*parsed, member::version).empty())
    return corruptValue(place, "there is no record with a version");
  out.copy = rawIn(*parsed, member::token);
  out.version = textIn(*parsed, member::version);
  out.holder = textIn(*parsed, member::holder);
  const auto* released = parsed->if_contains(member::released);
  out.released = released != nullptr && released->is_bool() && released->get_bool();
  out.lease = std::max(out.lease, leaseIn(*parsed, member::lease));
  return out;
}

std::string corrected(std::string_view record, FencingToken token, const std::string& version) {
  object changed = *objectFrom(record);
  changed[member::token] = signedToken(token);
  changed[member::version] = version;
  changed[member::released] = true;
  changed.erase(member::stepDown);
  changed.erase(member::livenessFile);
  return boost::json::serialize(changed);
}

}  // namespace tenure::etcd_store
