#include "layout.hpp"

#include <algorithm>

#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "json_text.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/fnv1a.hpp"
#include "lockcore/port/successor_text.hpp"

namespace tenure::dynamodb_store {
namespace {

constexpr std::string_view companionMark = "#fence";

constexpr std::array<std::string_view, attributeCount> aliases{"#k", "#c", "#o", "#l", "#v", "#r", "#d", "#t",
                                                               "#s", "#a", "#n", "#b", "#w", "#e", "#x"};
constexpr std::array<std::string_view, attributeCount> valueAliases{":k", ":c", ":o", ":l", ":v", ":r", ":d", ":t",
                                                                    ":s", ":a", ":n", ":b", ":w", ":e", ":x"};

const boost::json::string* memberOf(const boost::json::object& item, std::string_view attribute,
                                    std::string_view type) noexcept {
  const auto* value = item.if_contains(attribute);
  const auto* typed = value != nullptr ? value->if_object() : nullptr;
  const auto* found = typed != nullptr ? typed->if_contains(type) : nullptr;
  return found != nullptr ? found->if_string() : nullptr;
}

/// A companion name for a name so long that the mark does not fit behind it: the start of the name, a hash of the whole
/// name, and a filler up to exactly the greatest length. So no shorter name has the same companion. If two long names
/// had the same hash, they would share a counter, which does no harm: the tokens of both would still rise.
std::string companionOfLongName(std::string_view name) {
  constexpr std::size_t hashDigits = 32;
  const std::size_t room = maxLeaseNameBytes - companionMark.size() - hashDigits - 1;
  std::size_t kept = std::min(name.size(), room);
  while (kept > 0 && !isUtf8(name.substr(0, kept))) --kept;
  std::string out{name.substr(0, kept)};
  out.append(room - kept, '~');
  out += '~';
  return (out += fnv1aTwice(name)) += companionMark;
}

StoreError keyError(const LeaseKey& key, const std::string& what) {
  return {ErrorClass::misconfigured, "lease \"" + toString(key) + "\": " + what};
}

}  // namespace

std::string_view aliasOf(Attribute attribute) noexcept { return aliases[static_cast<std::size_t>(attribute)]; }
std::string_view valueAliasOf(Attribute attribute) noexcept {
  return valueAliases[static_cast<std::size_t>(attribute)];
}

Layout::Layout(const DynamoDbStoreOptions& options)
    : table_{options.table},
      hasSortKey_{!options.sortKey.empty()},
      sortKeyValue_{options.sortKeyValue},
      names_{options.partitionKey,
             options.sortKey,
             "ownerName",
             "leaseDuration",
             "recordVersionNumber",
             "isReleased",
             "data",
             "tenureToken",
             "tenureStepDown",
             "tenureAcquiredMillis",
             "tenureRenewedMillis",
             "tenureBeacon",
             "tenureOpenLease",
             std::string{successorAttribute},
             options.ttlAttribute},
      tableMember_{"\"TableName\":" + inQuotes(options.table)} {
  for (std::size_t i = 0; i < attributeCount; ++i) {
    aliasMembers_[i] = '"' + std::string{aliases[i]} + "\":" + inQuotes(names_[i]);
  }
}

std::optional<StoreError> Layout::errorOf(const LeaseKey& key) const {
  if (!hasSortKey_) {
    if (key.sortKey.empty()) return std::nullopt;
    return keyError(key, "it has a sort key, and table " + table_ +
                             " is used without one; name the table's sort key in the store's options, or leave it out");
  }
  if (key.sortKey != sortKeyValue_) return std::nullopt;
  return keyError(
      key, "its sort key is \"" + sortKeyValue_ +
               "\", which means that there is none; give another, or another sort key value in the store's options");
}

std::optional<StoreError> Layout::errorOf(const WriteRequest& request) const {
  for (const auto& [name, value] : request.record.attributes) {
    if (!isReserved(name)) continue;
    return keyError(request.key, "an attribute named \"" + name +
                                     "\" would overwrite a part of the lock itself; give it another name");
  }
  return errorOf(request.key);
}

OptionFaults Layout::faultsOf(const LeaseKey& key, const std::string& data,
                              const std::map<std::string, std::string>& attributes) const {
  // An item's names and values count (DynamoDB's documentation, "item sizes"); the lock's own part is less than 2 KB.
  constexpr std::size_t largestItem = 400U << 10U, ownPart = 2U << 10U;
  OptionFaults faults;
  if (const auto refused = errorOf(key)) faults.push_back({"key", refused->message});
  std::size_t size = ownPart + key.name.size() + key.sortKey.size() + data.size();
  for (const auto& [name, text] : attributes) {
    size += name.size() + text.size();
    if (isReserved(name)) {
      faults.push_back(
          {"attributes", "\"" + name + "\" would overwrite a part of the lock itself; give it another name"});
    }
  }
  if (size > largestItem) {
    faults.push_back({"data", "with the attributes and the lock's own part the item has " + std::to_string(size) +
                                  " bytes, and a DynamoDB item holds at most " + std::to_string(largestItem)});
  }
  return faults;
}

ItemKey Layout::keyOf(const LeaseKey& key) const {
  return {key.name, key.sortKey.empty() ? sortKeyValue_ : key.sortKey};
}

ItemKey Layout::companionOf(const LeaseKey& key) const {
  ItemKey companion = keyOf(key);
  // One byte less than would fit, because the greatest length is kept for the long names.
  if (key.name.size() + companionMark.size() < maxLeaseNameBytes) {
    companion.partition += companionMark;
  } else {
    companion.partition = companionOfLongName(key.name);
  }
  return companion;
}

void Layout::appendKey(std::string& out, const ItemKey& key) const {
  out += '{';
  appendQuoted(out, nameOf(Attribute::partition));
  out += ':';
  appendTextValue(out, key.partition);
  if (hasSortKey_) {
    out += ',';
    appendQuoted(out, nameOf(Attribute::sort));
    out += ':';
    appendTextValue(out, key.sort);
  }
  out += '}';
}

std::optional<ItemKey> Layout::keyIn(const boost::json::object& item) const {
  const auto* partition = textIn(item, nameOf(Attribute::partition));
  const auto* sort = hasSortKey_ ? textIn(item, nameOf(Attribute::sort)) : nullptr;
  if (partition == nullptr || (hasSortKey_ && sort == nullptr)) return std::nullopt;
  return ItemKey{std::string{partition->c_str(), partition->size()},
                 sort != nullptr ? std::string{sort->c_str(), sort->size()} : sortKeyValue_};
}

LeaseKey Layout::leaseKeyOf(ItemKey key) const {
  if (!hasSortKey_ || key.sort == sortKeyValue_) return {std::move(key.partition)};
  return {std::move(key.partition), std::move(key.sort)};
}

bool Layout::isReserved(std::string_view attribute) const noexcept {
  constexpr std::string_view own = "tenure";
  if (attribute.starts_with(own) && attribute.size() > own.size() && isUpper(attribute[own.size()])) {
    return true;
  }
  return !attribute.empty() && std::find(names_.begin(), names_.end(), attribute) != names_.end();
}

const boost::json::string* textIn(const boost::json::object& item, std::string_view attribute) noexcept {
  return memberOf(item, attribute, "S");
}
const boost::json::string* numberIn(const boost::json::object& item, std::string_view attribute) noexcept {
  return memberOf(item, attribute, "N");
}
const boost::json::string* bytesIn(const boost::json::object& item, std::string_view attribute) noexcept {
  return memberOf(item, attribute, "B");
}

std::string plainTextIn(const boost::json::object& parent, std::string_view member) {
  const auto* value = parent.if_contains(member);
  const auto* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string{text->data(), text->size()} : std::string{};
}

}  // namespace tenure::dynamodb_store
