// A lock client on a DynamoDB. Lines on stdin tell it what to do: acquire KEY, renew, release, try KEY. It answers each
// with a line: ok, or the error. For tests that observe it from outside.
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "lockcore/aws/make_json_client.hpp"

namespace {

using tenure::Lock;
using tenure::LockResult;

std::string take(std::optional<Lock>& held, LockResult<Lock> result) {
  if (result.has_error()) return std::string{toString(result.error().code)};
  held.emplace(*std::move(result));
  return "ok";
}

int run(const char* endpoint, const char* table) {
  tenure::DynamoDbStoreOptions options;
  options.table = table;
  tenure::aws::JsonClientOptions requests;
  requests.endpoint = endpoint;
  requests.region = "us-east-1";
  // Copies of a request with a late answer use other connections; a test that counts requests must not count those.
  requests.maxConnections = 1;
  tenure::LockClient client{tenure::makeDynamoDbStore(options, tenure::aws::makeJsonClient(requests), {})};
  std::optional<Lock> lock;
  for (std::string command, key; std::cin >> command;) {
    std::string answer = "not understood";
    if (command == "acquire" && std::cin >> key) {
      answer = take(lock, client.acquire({key}, {.waitFor = std::chrono::seconds{30}}));
    } else if (command == "try" && std::cin >> key) {
      answer = take(lock, client.tryAcquire({key}));
    } else if (command == "renew" && lock) {
      answer = lock->renew().has_value() ? "ok" : "not renewed";
    } else if (command == "release" && lock) {
      answer = toString(lock->release()) == "released" ? "ok" : "not released";
      lock.reset();
    }
    std::cout << answer << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: lock_actor ENDPOINT TABLE\n";
    return 2;
  }
  return run(argv[1], argv[2]);
}
