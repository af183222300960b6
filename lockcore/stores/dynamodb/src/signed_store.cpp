// The store over the client that signs its requests. The only file here that knows how such a client is made.
#include <utility>

#include <tenure/lockcore/aws/make_json_client.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "options_check.hpp"

namespace tenure {

std::shared_ptr<LeaseStore> makeDynamoDbStore(DynamoDbStoreOptions options, Logger logger) {
  dynamodb_store::checkOptions(options);  // before a client is made for nothing
  aws::JsonClientOptions client;
  client.region = options.region;
  client.endpoint = options.endpoint;
  client.profile = options.profile;
  client.caFile = options.caFile;
  return makeDynamoDbStore(std::move(options), aws::makeJsonClient(std::move(client), logger), logger);
}

}  // namespace tenure
