// A store in a DynamoDB table: for any number of machines, which AWS's Java lock client on the same table may
// share.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

class LeaseStore;

namespace aws {
class JsonClient;
}

/// The table that ensureSchema creates if it is missing. An existing table is never changed.
struct DynamoDbTableOptions {
  bool create{true};  ///< false: a missing table is an error
  /// Set both or neither; neither: on demand.
  std::optional<unsigned> readCapacity{};  ///< 1 .. 40,000
  std::optional<unsigned> writeCapacity{};
  std::map<std::string, std::string> tags{};
  bool pointInTimeRecovery{false};

  friend bool operator==(const DynamoDbTableOptions&, const DynamoDbTableOptions&) = default;
};

struct DynamoDbStoreOptions {
  std::string table{};              ///< 3 to 255 of a-z A-Z 0-9 _ - .
  std::string partitionKey{"key"};  ///< name of the attribute; type S
  std::string sortKey{};            ///< name of the attribute, type S; empty: the table has none, and leases with
                                    ///< a sort key are refused
  std::string sortKeyValue{"-"};    ///< for leases that have no sort key themselves; never empty
  std::string region{};             ///< empty: AWS_REGION, AWS_DEFAULT_REGION, the profile
  std::string endpoint{};  ///< a URL; empty: AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, the profile, the region's
  std::string profile{};   ///< empty: AWS_PROFILE, "default"
  std::string caFile{};    ///< PEM; empty: AWS_CA_BUNDLE, the profile's ca_bundle, the system's
  bool deleteOnRelease{false};  ///< false: the record stays, marked as released
  /// The attribute that DynamoDB's time to live reads. Each write sets it to now + ttl (epoch seconds). Empty: none.
  /// For clean-up only: ttl is 7 days to 10 years, so that it never takes a live lease away.
  std::string ttlAttribute{};
  std::chrono::seconds ttl{std::chrono::hours{24 * 30}};
  DynamoDbTableOptions tableOptions{};

  friend bool operator==(const DynamoDbStoreOptions&, const DynamoDbStoreOptions&) = default;
};

/// Every fault of the options, such as of `table` and `tableOptions.tags`.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const DynamoDbStoreOptions& options);

/// Makes the store without a request; the first request is made at the first call. Faults of the environment (no
/// credentials, no table, a table of another shape, a global table) are errors of each call. The table's shape is
/// checked once, before the first write or by ensureSchema(); reads need no check. Only ensureSchema() creates a
/// missing table. All candidates of a process should share one store object. Throws std::invalid_argument for invalid
/// options.
[[nodiscard]] TENURE_API std::shared_ptr<LeaseStore> makeDynamoDbStore(DynamoDbStoreOptions options,
                                                                       Logger logger = {});

/// The same over a client that the caller made: region, endpoint, profile and caFile are then set in the client.
[[nodiscard]] TENURE_API std::shared_ptr<LeaseStore> makeDynamoDbStore(DynamoDbStoreOptions options,
                                                                       std::shared_ptr<aws::JsonClient> client,
                                                                       Logger logger);

}  // namespace tenure
