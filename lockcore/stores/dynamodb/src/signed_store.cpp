// The store over the client that signs its requests. The only file here that knows how such a client is made.
#include <utility>

#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "lockcore/aws/make_json_client.hpp"
#include "options_check.hpp"

namespace tenure {
namespace {

/// A page of a scan ends after 1 MB of items, as DynamoDB counts them. As JSON that is at worst about ten times as
/// long: `"a":{"BOOL":true},` counts as two bytes.
constexpr std::size_t longestPage{16U << 20U};

}  // namespace

std::shared_ptr<LeaseStore> makeDynamoDbStore(DynamoDbStoreOptions options, Logger logger) {
  dynamodb_store::checkOptions(options);  // before a client is made in vain
  aws::JsonClientOptions client;
  client.region = options.region;
  client.endpoint = options.endpoint;
  client.profile = options.profile;
  client.caFile = options.caFile;
  client.maxReply = longestPage;
  return makeDynamoDbStore(std::move(options), aws::makeJsonClient(std::move(client), logger), logger);
}

}  // namespace tenure
