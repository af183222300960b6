#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "config/src/store_types.hpp"

namespace tenure::config {
namespace {

template <typename Config>
auto& optionsOf(Config& config) {
  return std::get<DynamoDbStoreOptions>(config.store);
}

using Tags = std::map<std::string, std::string>;

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string{text.substr(first, text.find_last_not_of(' ') - first + 1)};
}

boost::system::result<Tags, ValueFault> parseTags(std::string_view text) {
  Tags tags;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view tag = text.substr(begin, end - begin);
    const std::size_t equals = tag.find('=');
    const std::string name = trimmed(tag.substr(0, std::min(equals, tag.size())));
    if (equals == std::string_view::npos || name.empty()) {
      return ValueFault{inQuotes(tag) + " is no tag; write name=value, several with commas between"};
    }
    if (!tags.emplace(name, trimmed(tag.substr(equals + 1))).second) {
      return ValueFault{"the tag " + inQuotes(name) + " is given twice"};
    }
    begin = end + 1;
  }
  return tags;
}

std::string tagsText(const Tags& tags) {
  std::string text;
  for (const auto& [name, value] : tags) text += (text.empty() ? "" : ",") + name + "=" + value;
  return yamlScalar(text);
}

Codec<std::chrono::seconds> daysCodec() {
  using std::chrono::seconds;
  const auto exact = durationCodec({DynamoDbRanges::ttl.least, DynamoDbRanges::ttl.most});
  const auto parse = [exact](std::string_view text) -> boost::system::result<seconds, ValueFault> {
    const auto value = exact.parse(text);
    if (!value) return value.error();
    return std::chrono::duration_cast<seconds>(*value);  // DynamoDB counts seconds
  };
  return {exact.kind, exact.allowed, parse, [exact](const seconds& value) { return exact.write(value); }};
}

void addTextKey(std::vector<KeySpec>& keys, KeyText text, const std::string& allowed,
                std::string DynamoDbStoreOptions::*field, const std::string& derived) {
  keys.push_back(keySpec<std::string>(
      std::move(text), textCodec(allowed), [field](auto& config) -> auto& { return optionsOf(config).*field; }));
  keys.back().derived = [derived](const GroupConfig&) { return derived; };
}

void addPlaceKeys(std::vector<KeySpec>& keys) {
  addTextKey(keys,
             {"store.region", "AWS_REGION or the profile's", "eu-central-1",
              "The region of the table. Without it AWS_REGION, AWS_DEFAULT_REGION, then the profile's."},
             "the name of a region", &DynamoDbStoreOptions::region, "as the environment says");
  addTextKey(
      keys,
      {"store.endpoint", "that of the region", "http://127.0.0.1:8000",
       "Where DynamoDB answers, if elsewhere, such as DynamoDB Local. Plain http only where this says so. Without it "
       "AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL and the profile are looked at first."},
      "a URL", &DynamoDbStoreOptions::endpoint, "as the environment says");
  addTextKey(keys,
             {"store.profile", "AWS_PROFILE or \"default\"", "billing",
              "Which profile of the shared config and credentials files to use."},
             "the name of a profile", &DynamoDbStoreOptions::profile, "as the environment says");
  addTextKey(
      keys,
      {"store.ca_file", "the system's", "/etc/ssl/certs/proxy.pem",
       "A PEM file of the certificates to trust instead of the system's. A relative path starts at the directory "
       "of this file. Without it AWS_CA_BUNDLE and the profile's ca_bundle are looked at first."},
      "the path of a file", &DynamoDbStoreOptions::caFile, "as the environment says");
}

void addRecordKeys(std::vector<KeySpec>& keys) {
  addTextKey(keys,
             {"store.partition_key", "", "", "The name of the table's partition key, of type S. Java's default too."},
             "the name of an attribute", &DynamoDbStoreOptions::partitionKey, {});
  keys.push_back(keySpec<std::string>(
      {"store.sort_key", "none", "range", "The name of the table's sort key, of type S, if the table has one."},
      textCodec("the name of an attribute"), [](auto& config) -> auto& { return optionsOf(config).sortKey; }));
  keys.back().derived = [](const GroupConfig&) { return "none"; };
  addTextKey(keys, {"store.sort_key_value", "", "", "What the lease has in the sort key, if the table has one."},
             "text", &DynamoDbStoreOptions::sortKeyValue, {});
  keys.push_back(keySpec<bool>(
      {"store.delete_on_release", "", "",
       "Whether a release deletes the lease's item instead of marking it as released. The fencing counter stays."},
      boolCodec(), [](auto& config) -> auto& { return optionsOf(config).deleteOnRelease; }));
  addTextKey(keys,
             {"store.ttl_attribute", "none", "expiresAt",
              "An attribute for DynamoDB's time to live, set at each write to now + store.ttl, so that abandoned items "
              "vanish in the end."},
             "the name of an attribute", &DynamoDbStoreOptions::ttlAttribute, "none");
  keys.push_back(keySpec<std::chrono::seconds>(
      {"store.ttl", "", "",
       "How long after the last write DynamoDB may delete an item. Only with store.ttl_attribute."},
      daysCodec(), [](auto& config) -> auto& { return optionsOf(config).ttl; }));
}

void addTableKeys(std::vector<KeySpec>& keys) {
  keys.push_back(keySpec<bool>(
      {"store.create_table", "", "", "Whether a missing table is created.", "store.tableOptions.create"}, boolCodec(),
      [](auto& config) -> auto& { return optionsOf(config).tableOptions.create; }));
  keys.push_back(keySpec<unsigned>(
      {"store.read_capacity", "on demand", "5", "Provisioned read capacity of a table that is created.",
       "store.tableOptions.readCapacity"},
      wholeNumberCodec(DynamoDbRanges::capacity),
      [](auto& config) -> auto& { return optionsOf(config).tableOptions.readCapacity; }));
  keys.back().derived = [](const GroupConfig&) { return "on demand"; };
  keys.push_back(keySpec<unsigned>(
      {"store.write_capacity", "on demand", "5", "Provisioned write capacity of a table that is created.",
       "store.tableOptions.writeCapacity"},
      wholeNumberCodec(DynamoDbRanges::capacity),
      [](auto& config) -> auto& { return optionsOf(config).tableOptions.writeCapacity; }));
  keys.back().derived = [](const GroupConfig&) { return "on demand"; };
  KeySpec tags = keySpec<Tags>(
      {"store.tags", "none", "team=billing,env=prod", "Tags of a table that is created.", "store.tableOptions.tags"},
      {"text", "name=value, several with commas between", parseTags, tagsText},
      [](auto& config) -> auto& { return optionsOf(config).tableOptions.tags; });
  tags.get = [](const GroupConfig& config) -> std::optional<std::string> {
    const Tags& set = optionsOf(config).tableOptions.tags;
    if (set.empty()) return std::nullopt;
    return tagsText(set);
  };
  tags.derived = [](const GroupConfig&) { return "none"; };
  keys.push_back(std::move(tags));
  keys.push_back(keySpec<bool>(
      {"store.point_in_time_recovery", "", "", "Whether a table that is created gets point-in-time recovery.",
       "store.tableOptions.pointInTimeRecovery"},
      boolCodec(), [](auto& config) -> auto& { return optionsOf(config).tableOptions.pointInTimeRecovery; }));
}

void resolvePaths(StoreConfig& store, const std::filesystem::path& directory) {
  std::string& path = std::get<DynamoDbStoreOptions>(store).caFile;
  if (!path.empty()) path = (directory / path).lexically_normal().string();
}

}  // namespace

StoreType dynamodbStoreType() {
  StoreType type;
  type.name = "dynamodb";
  type.about = "a DynamoDB table, for any number of machines; AWS's Java lock client may share it.";
  type.defaults = DynamoDbStoreOptions{};
  type.keys.push_back(requiredKeySpec<std::string>(
      {"store.table", "", "tenure-leases", "The table. It is created if it is missing."},
      textCodec("3 to 255 of a-z, A-Z, 0-9, '_', '-' and '.'"),
      [](auto& config) -> auto& { return optionsOf(config).table; }));
  addPlaceKeys(type.keys);
  addRecordKeys(type.keys);
  addTableKeys(type.keys);
  type.faults = [](const StoreConfig& store) { return faultsOf(std::get<DynamoDbStoreOptions>(store)); };
  type.resolvePaths = resolvePaths;
  type.make = [](const StoreConfig& store, Logger logger) {
    return makeDynamoDbStore(std::get<DynamoDbStoreOptions>(store), std::move(logger));
  };
  return type;
}

}  // namespace tenure::config
