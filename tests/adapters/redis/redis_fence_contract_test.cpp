// The fence's contract on a Redis.
#include <sstream>

#include <tenure/adapters/redis_fence.hpp>

#include "adapters/contract/fence_contract.hpp"
#include "adapters/redis/redis_server.hpp"

namespace tenure::contract {
namespace {

static_assert(FencedWriter<RedisFence, const RedisWrite> && ReadableFence<RedisFence>);

RedisWrite entryOf(const TermStamp& stamp, const std::string& entry) {
  return {{"ledger"}, {{"RPUSH", "ledger", toString(stamp.token) + ' ' + entry + ' ' + stamp.holder}}};
}

class RedisHandle final : public FenceHandle {
 public:
  explicit RedisHandle(const std::string& socket)
      : connection_{test::connectRedis(socket)}, fence_{RedisFence::open(connection_.get()).value()} {}

  FenceResult<void> write(const TermStamp& stamp, const std::string& entry, const std::function<void()>&) override {
    return told(fence_.write(stamp, entryOf(stamp, entry)));
  }
  FenceResult<void> writeUnder(const FencedTerm& term, const std::string& entry) override {
    return told(fence_.write(term, entryOf(term.stamp(), entry)));
  }
  bool writeBare(const TermStamp& stamp, const std::string& entry) override {
    test::askRedis(*connection_, entryOf(stamp, entry).commands.front());
    return true;
  }
  FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease) override {
    return fence_.highestSeen(lease);
  }

 private:
  static FenceResult<void> told(const FenceResult<RedisReplies>& replies) {
    if (!replies) return replies.error();
    return {};
  }
  test::RedisConnection connection_;
  RedisFence fence_;
};

class RedisResource final : public FencedResource {
 public:
  std::string address() const override { return server_.socket(); }
  std::vector<FencedEntry> entries() override {
    std::vector<FencedEntry> found;
    for (const std::string& line : test::askRedis(*reader_, {"LRANGE", "ledger", "0", "-1"})) {
      const std::size_t first = line.find(' ');
      const std::size_t second = line.find(' ', first + 1);
      found.push_back(
          {FencingToken{std::stoull(line)}, line.substr(second + 1), line.substr(first + 1, second - first - 1)});
    }
    return found;
  }
  bool plant(const TermStamp& memory) override {
    test::askRedis(*reader_,
                   {"HSET", "tenure:fence:" + memory.lease, "token", toString(memory.token), "holder", memory.holder});
    return true;
  }

 private:
  test::RedisServer server_;
  test::RedisConnection reader_{test::connectRedis(server_.socket())};
};

const FenceUnderTest redis =
    registerFence({.name = "Redis",
                   .make = [] { return std::make_unique<RedisResource>(); },
                   .open = [](const std::string& address) { return std::make_unique<RedisHandle>(address); }});

INSTANTIATE_TEST_SUITE_P(Redis, FenceContract, testing::Values(redis), fenceName);
INSTANTIATE_TEST_SUITE_P(Redis, FenceRaceContract, testing::Values(redis), fenceName);
INSTANTIATE_TEST_SUITE_P(Redis, FenceFreezeContract, testing::Values(redis), fenceName);

}  // namespace
}  // namespace tenure::contract
