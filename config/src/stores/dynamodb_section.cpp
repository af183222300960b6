#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "config/src/store_section.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/stores/dynamodb/src/options_check.hpp"

#ifdef TENURE_HAS_STORE_DYNAMODB
#include <stdexcept>

#include "config/src/ask_server.hpp"
#include "lockcore/aws/service_access.hpp"
#include "lockcore/net/library_version.hpp"

namespace tenure::config {
namespace {

using Section = StoreSection<DynamoDbStoreOptions>;
using Tags = std::map<std::string, std::string>;

boost::system::result<Tags, ValueFault> parseTags(std::string_view text) {
  Tags tags;
  for (const std::string_view tag : split(text, ',')) {
    const std::size_t equals = tag.find('=');
    const std::string name{trimmed(tag.substr(0, std::min(equals, tag.size())), " ")};
    if (equals == std::string_view::npos || name.empty()) {
      return ValueFault{inQuotes(tag) + " is not a tag; write name=value, several with commas between"};
    }
    if (!tags.emplace(name, std::string{trimmed(tag.substr(equals + 1), " ")}).second) {
      return ValueFault{"the tag " + inQuotes(name) + " is given twice"};
    }
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

void addPlaceKeys(Section& section) {
  const std::string environment = "as the environment says";
  section.textKey(
      {.path = "store.region",
       .fallback = "AWS_REGION or the profile's",
       .example = "eu-central-1",
       .about =
           "The region of the table. If it is missing: AWS_REGION, AWS_DEFAULT_REGION, then the profile's region."},
      "the name of a region", &DynamoDbStoreOptions::region, environment, "R");
  section.textKey({.path = "store.endpoint",
                   .fallback = "that of the region",
                   .example = "http://127.0.0.1:8000",
                   .about = "The URL of DynamoDB, if it is not the region's. If it is missing: "
                            "AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, the profile's URL, then the region's."},
                  "a URL", &DynamoDbStoreOptions::endpoint, environment, "URL");
  section.textKey({.path = "store.profile",
                   .fallback = "AWS_PROFILE or \"default\"",
                   .example = "billing",
                   .about = "Which profile of the shared config and credentials files to use."},
                  "the name of a profile", &DynamoDbStoreOptions::profile, environment, "P");
  section.textKey({.path = "store.ca_file",
                   .fallback = "the system's",
                   .example = "/etc/ssl/certs/proxy.pem",
                   .about = "A PEM file of the certificates to trust instead of the system's. If it is missing: "
                            "AWS_CA_BUNDLE, the profile's ca_bundle, then the system's certificates."},
                  "the path of a file", &DynamoDbStoreOptions::caFile, environment);
}

void addRecordKeys(Section& section) {
  section.textKey(
      {.path = "store.partition_key",
       .about = "The name of the table's partition key, of type S. The AWS Java lock client has the same default."},
      "the name of an attribute", &DynamoDbStoreOptions::partitionKey, {}, "NAME");
  section.textKey({.path = "store.sort_key",
                   .example = "range",
                   .about = "The name of the table's sort key, of type S, if the table has one."},
                  "the name of an attribute", &DynamoDbStoreOptions::sortKey, "none", "NAME");
  section.textKey({.path = "store.sort_key_value", .about = "The lease's value of the sort key, if the table has one."},
                  "text", &DynamoDbStoreOptions::sortKeyValue, {});
  section.key(
      {.path = "store.delete_on_release",
       .about =
           "Whether a release deletes the lease's item instead of marking it as released. The fencing counter stays."},
      boolCodec(), [](auto& options) -> auto& { return options.deleteOnRelease; });
  section.textKey({.path = "store.ttl_attribute",
                   .example = "expiresAt",
                   .about = "An attribute for DynamoDB's time to live, set at each write to now + store.ttl, so that "
                            "abandoned items are deleted in the end."},
                  "the name of an attribute", &DynamoDbStoreOptions::ttlAttribute, "none");
  section.key(
      {.path = "store.ttl",
       .about = "How long after the last write DynamoDB may delete an item. Only with store.ttl_attribute."},
      daysCodec(), [](auto& options) -> auto& { return options.ttl; });
}

void addTableKeys(Section& section) {
  section.key(
      {.path = "store.create_table",
       .about = "Whether a missing table is created.",
       .field = "store.tableOptions.create"},
      boolCodec(), [](auto& options) -> auto& { return options.tableOptions.create; });
  section.key(
      {.path = "store.read_capacity",
       .fallback = "on demand",
       .example = "5",
       .about = "Provisioned read capacity of a table that is created.",
       .field = "store.tableOptions.readCapacity"},
      wholeNumberCodec(DynamoDbRanges::capacity),
      [](auto& options) -> auto& { return options.tableOptions.readCapacity; });
  section.key(
      {.path = "store.write_capacity",
       .fallback = "on demand",
       .example = "5",
       .about = "Provisioned write capacity of a table that is created.",
       .field = "store.tableOptions.writeCapacity"},
      wholeNumberCodec(DynamoDbRanges::capacity),
      [](auto& options) -> auto& { return options.tableOptions.writeCapacity; });
  section.key(
      {.path = "store.tags",
       .fallback = "none",
       .example = "team=billing,env=prod",
       .about = "Tags of a table that is created.",
       .field = "store.tableOptions.tags"},
      Codec<Tags>{"text", "name=value, several with commas between", parseTags, tagsText},
      [](auto& options) -> auto& { return options.tableOptions.tags; });
  section.key(
      {.path = "store.point_in_time_recovery",
       .about = "Whether a table that is created gets point-in-time recovery.",
       .field = "store.tableOptions.pointInTimeRecovery"},
      boolCodec(), [](auto& options) -> auto& { return options.tableOptions.pointInTimeRecovery; });
}

ServerFacts askEndpoint(const DynamoDbStoreOptions& options) {
  const aws::ServiceAccess access{
      {.region = options.region, .endpoint = options.endpoint, .profile = options.profile, .caFile = options.caFile},
      {.environment = aws::AwsEnvironment::ofProcess(),
       .makeHttp = [](net::HttpClientOptions http) { return net::HttpClient::make(std::move(http)); }},
      Logger{}};
  const auto target = access.target();
  if (!target) throw std::runtime_error{"the endpoint is not known without a call: " + access.describe()};
  ServerFacts facts = askServer(*target->http, target->place.endpoint);
  facts.signs = true;
  return facts;
}

}  // namespace

template <>
StoreType storeType<DynamoDbStoreOptions>() {
  Section section{"dynamodb", "a DynamoDB table, for any number of machines; AWS's Java lock client may share it."};
  KeySpec& table = section.requiredKey(
      {.path = "store.table", .example = "tenure-leases", .about = "The table. It is created if it is missing."},
      textCodec("3 to 255 of a-z, A-Z, 0-9, '_', '-' and '.'"), [](auto& options) -> auto& { return options.table; });
  table.word = "NAME";
  section.hasSample(
      R"(# Where the lease is kept: a table in DynamoDB, for any number of processes on any number of machines.
# Credentials are found as AWS's own tools find them. The table is created if it is missing.
store:
  type: dynamodb
  table: tenure-leases
  region: eu-central-1
)");
  addPlaceKeys(section);
  addRecordKeys(section);
  addTableKeys(section);
  section.serverBy(askEndpoint);
  section.isBuiltOn({"OpenSSL", net::libraryVersion()});
  section.forgetsIf([](const DynamoDbStoreOptions& options) {
    return std::string{options.deleteOnRelease ? "store.delete_on_release is true" : ""};
  });
  section.pathsBy([](DynamoDbStoreOptions& options, const std::filesystem::path& directory) {
    if (!options.caFile.empty()) options.caFile = (directory / options.caFile).lexically_normal().string();
  });
  return section.madeBy(
      [](const DynamoDbStoreOptions& options, Logger logger) { return makeDynamoDbStore(options, std::move(logger)); });
}

}  // namespace tenure::config
#else
template <>
tenure::config::StoreType tenure::config::storeType<tenure::DynamoDbStoreOptions>() {
  return {.name = "dynamodb", .without = "CMake's option TENURE_WITH_DYNAMODB was off"};
}
#endif
