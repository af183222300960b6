#include "options_check.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include <tenure/lockcore/lease_key.hpp>

#include "lockcore/net/http_client.hpp"

namespace tenure {
namespace {

constexpr std::size_t maxKeyNameBytes = 255;

bool isText(std::string_view text) { return isUtf8(text) && text.find('\0') == std::string_view::npos; }

/// The names that every item has.
bool isProtocolName(std::string_view name) {
  constexpr std::array names{"ownerName", "leaseDuration", "recordVersionNumber", "isReleased", "data"};
  constexpr std::array own{"tenureToken", "tenureStepDown", "tenureAcquiredMillis", "tenureRenewedMillis",
                           "tenureBeacon"};
  return std::find(names.begin(), names.end(), name) != names.end() ||
         std::find(own.begin(), own.end(), name) != own.end();
}

void checkTable(const std::string& table, OptionFaults& faults) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  const bool fits = table.size() >= 3 && table.size() <= 255;
  if (fits && table.find_first_not_of(allowed) == std::string::npos) return;
  faults.push_back(
      {"table", "is \"" + table.substr(0, 80) + "\"; it must be 3 to 255 of a-z, A-Z, 0-9, \"_\", \"-\", \".\""});
}

void checkName(const std::string& option, const std::string& name, OptionFaults& faults) {
  if (name.empty() || name.size() > maxKeyNameBytes || !isText(name)) {
    faults.push_back({option, "must be 1 to 255 bytes of text"});
  } else if (isProtocolName(name)) {
    faults.push_back({option, "is \"" + name + "\", which is the name of another attribute of a lock"});
  }
}

void checkKeys(const DynamoDbStoreOptions& options, OptionFaults& faults) {
  checkName("partition_key", options.partitionKey, faults);
  if (!options.sortKey.empty()) {
    checkName("sort_key", options.sortKey, faults);
    if (options.sortKey == options.partitionKey) faults.push_back({"sort_key", "is the same as partition_key"});
  }
  const std::string& value = options.sortKeyValue;
  if (value.empty() || value.size() > maxSortKeyBytes || !isText(value)) {
    faults.push_back({"sort_key_value", "must be 1 to " + std::to_string(maxSortKeyBytes) + " bytes of text"});
  }
}

void checkTtl(const DynamoDbStoreOptions& options, OptionFaults& faults) {
  if (options.ttlAttribute.empty()) return;
  checkName("ttl_attribute", options.ttlAttribute, faults);
  if (options.ttlAttribute == options.partitionKey || options.ttlAttribute == options.sortKey) {
    faults.push_back({"ttl_attribute", "is a key of the table"});
  }
  constexpr std::chrono::seconds least = std::chrono::hours{24 * 7};
  constexpr std::chrono::seconds most = std::chrono::hours{24 * 3'650};
  if (options.ttl < least || options.ttl > most) {
    faults.push_back({"ttl", "is " + std::to_string(options.ttl.count()) +
                                 " s; it must be 7 days to 10 years, so that it never takes a live lease away"});
  }
}

/// Empty options take their values from the environment.
void checkPlace(const DynamoDbStoreOptions& options, OptionFaults& faults) {
  constexpr std::string_view inRegions = "abcdefghijklmnopqrstuvwxyz0123456789-";
  const std::string& region = options.region;
  if (region.size() > 63 || region.find_first_not_of(inRegions) != std::string::npos) {
    faults.push_back({"region", "is no name of a region such as eu-central-1; it has a-z, 0-9 and \"-\" only"});
  }
  if (options.endpoint.empty()) return;
  if (const auto url = net::parseUrl(options.endpoint); !url) faults.push_back({"endpoint", url.error().message});
}

void checkTableOptions(const DynamoDbTableOptions& options, OptionFaults& faults) {
  if (options.readCapacity.has_value() != options.writeCapacity.has_value()) {
    faults.push_back({options.readCapacity ? "write_capacity" : "read_capacity",
                      "is missing; read_capacity and write_capacity go together: give both, or none for on-demand"});
  }
  if (options.readCapacity == 0U) faults.push_back({"read_capacity", "must be at least 1"});
  if (options.writeCapacity == 0U) faults.push_back({"write_capacity", "must be at least 1"});
  for (const auto& [name, value] : options.tags) {
    const bool fits = !name.empty() && name.size() <= 128 && value.size() <= 256 && isText(name) && isText(value);
    if (!fits || name.starts_with("aws:")) {
      faults.push_back(
          {"tags", "has \"" + name.substr(0, 80) +
                       "\"; a tag has 1 to 128 characters, does not start with aws: and its value has at most 256"});
    }
  }
}

}  // namespace

OptionFaults faultsOf(const DynamoDbStoreOptions& options) {
  OptionFaults faults;
  checkTable(options.table, faults);
  checkKeys(options, faults);
  checkTtl(options, faults);
  checkPlace(options, faults);
  checkTableOptions(options.tableOptions, faults);
  return faults;
}

void dynamodb_store::checkOptions(const DynamoDbStoreOptions& options) {
  const OptionFaults faults = faultsOf(options);
  if (faults.empty()) return;
  std::string message{"DynamoDB store: "};
  for (const OptionFault& fault : faults) {
    message += (&fault == faults.data() ? "" : "; ") + fault.key + " " + fault.message;
  }
  throw std::invalid_argument{message};
}

}  // namespace tenure
