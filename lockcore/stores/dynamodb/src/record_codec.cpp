#include "record_codec.hpp"

#include <cstdint>

#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "json_text.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/liveness_text.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/port/successor_text.hpp"

namespace tenure::dynamodb_store {
namespace {

using boost::json::object;

/// A lease shorter than this, without our own attributes, is more likely another client's lease in seconds.
constexpr std::int64_t leastForeignLeaseMillis = 1'000;

std::string_view viewOf(const boost::json::string& text) noexcept { return {text.data(), text.size()}; }

/// Reads an item attribute by attribute. The first one that makes no sense is kept as the fault.
class ItemReader {
 public:
  ItemReader(const Layout& layout, const object& item) : layout_{layout}, item_{item} {}

  std::string text(Attribute attribute) {
    const auto* found = textIn(item_, layout_.nameOf(attribute));
    if (found == nullptr) {
      fault(attribute, has(attribute) ? "is not a string" : "is missing");
    } else if (found->empty()) {
      fault(attribute, "is empty");
    }
    return found != nullptr ? std::string{viewOf(*found)} : std::string{};
  }

  std::chrono::milliseconds lease(bool isOurs) {
    const std::string digits = text(Attribute::lease);
    const auto millis = numberFrom<std::uint32_t>(digits);
    const bool inRange = millis && *millis >= 1 && *millis <= maxRecordLease.count();
    if (!inRange) {
      fault(Attribute::lease, "holds \"" + digits.substr(0, 40) + "\", allowed is 1 to " +
                                  std::to_string(maxRecordLease.count()) + " (milliseconds)");
      return std::chrono::milliseconds{0};
    }
    if (!isOurs && *millis < leastForeignLeaseMillis) {
      fault(Attribute::lease,
            "holds \"" + digits + "\": it counts as milliseconds, but is so short that seconds are probably meant");
    }
    return std::chrono::milliseconds{*millis};
  }

  /// The Java client marks a lock as released by "1" and takes over no other value, so we must not interpret another
  /// value.
  bool released() {
    if (!has(Attribute::released)) return false;
    const auto* found = textIn(item_, layout_.nameOf(Attribute::released));
    if (found == nullptr || viewOf(*found) != "1") fault(Attribute::released, "holds something other than \"1\"");
    return true;
  }

  FencingToken token(Attribute attribute) {
    if (!has(attribute)) return {};
    const auto* found = numberIn(item_, layout_.nameOf(attribute));
    const auto value = found != nullptr ? tokenFrom(viewOf(*found)) : std::nullopt;
    if (!value) {
      fault(attribute, "is not a whole number from 0 to " + toString(maxFencingToken) +
                           " (`tenure fence recover` corrects tokens)");
    }
    return value.value_or(FencingToken{});
  }

  std::optional<std::chrono::milliseconds> openLease() {
    if (!has(Attribute::openLease)) return std::nullopt;
    const auto* found = numberIn(item_, layout_.nameOf(Attribute::openLease));
    const auto value = found != nullptr ? numberFrom<std::uint32_t>(viewOf(*found)) : std::nullopt;
    if (value && *value <= maxRecordLease.count()) return std::chrono::milliseconds{*value};
    fault(Attribute::openLease, "is not a whole number from 0 to " + std::to_string(maxRecordLease.count()));
    return std::nullopt;
  }

  /// For attributes that decide nothing: anything that is not a number counts as zero.
  [[nodiscard]] std::int64_t display(Attribute attribute) const {
    const auto* found = numberIn(item_, layout_.nameOf(attribute));
    return found != nullptr ? numberFrom<std::int64_t>(viewOf(*found)).value_or(0) : 0;
  }

  [[nodiscard]] std::optional<LivenessFile> livenessFile() const {
    const auto* found = textIn(item_, layout_.nameOf(Attribute::livenessFile));
    return found != nullptr ? livenessFileFrom(viewOf(*found)) : std::nullopt;
  }

  [[nodiscard]] Successor successor(FencingToken term) const {
    const auto* found = textIn(item_, layout_.nameOf(Attribute::successor));
    return found != nullptr ? successorFrom(viewOf(*found), term) : Successor{};
  }

  std::string data() {
    if (!has(Attribute::data)) return {};
    const auto* found = bytesIn(item_, layout_.nameOf(Attribute::data));
    auto bytes = found != nullptr ? bytesFromBase64(viewOf(*found)) : std::nullopt;
    if (!bytes) fault(Attribute::data, "is not binary");
    return bytes ? std::move(*bytes) : std::string{};
  }

  /// Strings are the user's attributes; values of other types are left where they are.
  [[nodiscard]] std::map<std::string, std::string> attributes() const {
    std::map<std::string, std::string> found;
    for (const auto& member : item_) {
      const std::string_view name{member.key().data(), member.key().size()};
      if (layout_.isReserved(name)) continue;
      if (const auto* text = textIn(item_, name)) found.emplace(name, viewOf(*text));
    }
    return found;
  }

  [[nodiscard]] bool has(Attribute attribute) const {
    const std::string& name = layout_.nameOf(attribute);
    return item_.if_contains(name) != nullptr;
  }
  void fault(Attribute attribute, const std::string& what) {
    if (fault_.empty()) fault_ = "attribute " + layout_.nameOf(attribute) + ' ' + what;
  }
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  const Layout& layout_;
  const object& item_;
  std::string fault_;
};

StoreError corruptItem(const Layout& layout, const std::string& where, const LeaseKey& key, const std::string& fault,
                       const object& item) {
  return {ErrorClass::corrupt,
          where + ": lease " + toString(key) + ": " + fault + ". " + likelyWriterOf(layout, item) +
              " The item is left as it is and no candidate can take the lease until it is repaired or deleted"};
}

}  // namespace

StoreResult<StoredRecord> recordFrom(const Layout& layout, const std::string& where, const LeaseKey& key,
                                     const object& item) {
  ItemReader reader{layout, item};
  StoredRecord out;
  LeaseRecord& record = out.record;
  record.holder = reader.text(Attribute::owner);
  record.token = reader.token(Attribute::token);
  record.leaseDuration = reader.lease(!record.token.isNone());
  record.version = RecordVersion{reader.text(Attribute::version)};
  record.released = reader.released();
  record.data = reader.data();
  out.stepDown = reader.token(Attribute::stepDown);
  if (!reader.fault().empty()) return corruptItem(layout, where, key, reader.fault(), item);
  record.successor = reader.successor(record.token);
  record.livenessFile = reader.livenessFile();
  record.attributes = reader.attributes();
  record.acquiredAtMillis = reader.display(Attribute::acquired);
  record.renewedAtMillis = reader.display(Attribute::renewed);
  return out;
}

StoreResult<Companion> companionFrom(const Layout& layout, const std::string& where, const LeaseKey& key,
                                     const object& item) {
  ItemReader reader{layout, item};
  const Companion companion{true, reader.token(Attribute::token), reader.openLease()};
  if (reader.fault().empty()) return companion;
  return StoreError{ErrorClass::corrupt,
                    where + ": lease " + toString(key) + ": the item " + layout.companionOf(key).partition +
                        " of its fencing counter is damaged: " + reader.fault() +
                        ". It was probably edited by hand. No candidate can take the lease until the "
                        "attribute is set to a number above any token that was handed out"};
}

std::optional<FencingToken> tokenFrom(std::string_view digits) noexcept {
  const auto value = numberFrom<std::uint64_t>(digits);
  if (!value || FencingToken{*value} > maxFencingToken) return std::nullopt;
  return FencingToken{*value};
}

}  // namespace tenure::dynamodb_store
