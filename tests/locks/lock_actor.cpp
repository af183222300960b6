// A lock client on a DynamoDB, told what to do by lines on stdin: acquire KEY, renew, release, try KEY. It answers each
// with a line: ok, or what went wrong. For tests that look at it from outside.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <unistd.h>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

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
  options.endpoint = endpoint;
  options.table = table;
  options.region = "us-east-1";
  tenure::LockClient client{tenure::makeDynamoDbStore(options)};
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

/// The client's threads end soon after it. What OpenSSL keeps for one that is still about to end looks like a leak.
void awaitThreads() {
#if defined(__SANITIZE_ADDRESS__)
  const auto threads = [] { return std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {}); };
  for (int i = 0; i < 500 && threads() > 1; ++i) usleep(10'000);  // lint-allow(sleep): the system ends them
#endif
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: lock_actor ENDPOINT TABLE\n";
    return 2;
  }
  const int code = run(argv[1], argv[2]);
  awaitThreads();
  return code;
}
