#include "options_check.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/net/http_client.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/runtime/regular_file.hpp"

namespace tenure {
namespace {

constexpr std::size_t maxKeyNameBytes = 255;

bool isText(std::string_view text) { return isUtf8(text) && text.find('\0') == std::string_view::npos; }

/// The names that every item has.
bool isProtocolName(std::string_view name) {
  constexpr std::array names{"ownerName", "leaseDuration", "recordVersionNumber", "isReleased", "data"};
  constexpr std::array own{"tenureToken",  "tenureStepDown",  "tenureAcquiredMillis", "tenureRenewedMillis",
                           "tenureBeacon", "tenureSuccessor", "tenureOpenLease"};
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

void checkName(const char* field, const std::string& name, OptionFaults& faults) {
  if (name.empty() || name.size() > maxKeyNameBytes || !isText(name)) {
    faults.push_back({field, "must be 1 to 255 bytes of text"});
  } else if (isProtocolName(name)) {
    faults.push_back({field, "is \"" + name + "\", which is the name of another attribute of a lock"});
  }
}

void checkKeys(const DynamoDbStoreOptions& options, OptionFaults& faults) {
  checkName("partitionKey", options.partitionKey, faults);
  if (!options.sortKey.empty()) {
    checkName("sortKey", options.sortKey, faults);
    if (options.sortKey == options.partitionKey) faults.push_back({"sortKey", "is the same as the partition key"});
  }
  const std::string& value = options.sortKeyValue;
  if (value.empty() || value.size() > maxSortKeyBytes || !isText(value)) {
    faults.push_back({"sortKeyValue", "must be 1 to " + std::to_string(maxSortKeyBytes) + " bytes of text"});
  }
}

void checkTtl(const DynamoDbStoreOptions& options, OptionFaults& faults) {
  if (!DynamoDbRanges::ttl.holds(options.ttl)) {
    faults.push_back({"ttl",
                      "is " + std::to_string(options.ttl.count()) +
                          " s; it must be 7 days to 10 years, so that it never takes a live lease away",
                      true});
  }
  if (options.ttlAttribute.empty()) return;
  checkName("ttlAttribute", options.ttlAttribute, faults);
  if (options.ttlAttribute == options.partitionKey || options.ttlAttribute == options.sortKey) {
    faults.push_back({"ttlAttribute", "is a key of the table"});
  }
}

/// Empty options take their values from the environment, where `~` is expanded as AWS's clients do.
void checkPlace(const DynamoDbStoreOptions& options, OptionFaults& faults) {
  constexpr std::string_view inRegions = "abcdefghijklmnopqrstuvwxyz0123456789-";
  const std::string& region = options.region;
  if (region.size() > 63 || region.find_first_not_of(inRegions) != std::string::npos) {
    faults.push_back(
        {"region", "is not the name of a region, such as eu-central-1; a name has only a-z, 0-9 and \"-\""});
  }
  if (std::string fault = faultOfPath(options.caFile); !fault.empty()) faults.push_back({"caFile", std::move(fault)});
  if (options.endpoint.empty()) return;
  if (const auto url = net::parseUrl(options.endpoint); !url) faults.push_back({"endpoint", url.error().message});
}

void checkCapacity(const char* field, const std::optional<unsigned>& capacity, OptionFaults& faults) {
  constexpr auto range = DynamoDbRanges::capacity;
  if (!capacity || range.holds(*capacity)) return;
  faults.push_back({field,
                    "is " + std::to_string(*capacity) + "; it must be " + std::to_string(range.least) + " to " +
                        std::to_string(range.most),
                    true});
}

void checkTableOptions(const DynamoDbTableOptions& options, OptionFaults& faults) {
  if (options.readCapacity.has_value() != options.writeCapacity.has_value()) {
    faults.push_back({options.readCapacity ? "tableOptions.writeCapacity" : "tableOptions.readCapacity",
                      "is missing; the read and the write capacity go together: give both, or none for on-demand"});
  }
  checkCapacity("tableOptions.readCapacity", options.readCapacity, faults);
  checkCapacity("tableOptions.writeCapacity", options.writeCapacity, faults);
  for (const auto& [name, value] : options.tags) {
    const bool fits = !name.empty() && name.size() <= 128 && value.size() <= 256 && isText(name) && isText(value);
    if (!fits || name.starts_with("aws:")) {
      faults.push_back(
          {"tableOptions.tags",
           "has \"" + name.substr(0, 80) +
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
  throwIfFaulty("DynamoDB store", faultsOf(options));
}

}  // namespace tenure
