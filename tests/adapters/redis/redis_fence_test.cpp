#include <csignal>
#include <sys/socket.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include <tenure/adapters/redis_fence.hpp>

#include "adapters/redis/redis_server.hpp"
#include "lockcore/port/store_checks.hpp"

namespace tenure {
namespace {

using test::askRedis;
using Texts = std::vector<std::string>;

TermStamp stamp(std::uint64_t token, std::string holder = "a#1") {
  return {"billing", FencingToken{token}, std::move(holder)};
}

class RedisFenceTest : public testing::Test {
 protected:
  [[nodiscard]] RedisFence open(const RedisFenceOptions& options = {}) const {
    return RedisFence::open(connection_.get(), options).value();
  }
  void reconnect() { connection_ = test::connectRedis(server_.socket()); }
  [[nodiscard]] ErrorClass classOf(const FenceResult<RedisReplies>& result) const {
    const FenceError error = result.error();
    return error.writeError()->error.errorClass;
  }

  test::RedisServer server_;
  test::RedisConnection connection_{test::connectRedis(server_.socket())};
};

TEST_F(RedisFenceTest, runsCommandsAndTellsTheirReplies) {
  RedisFence fence = open();
  const auto replies = fence.write(stamp(5), {{"a", "b"},
                                              {{"SET", "a", std::string{"x\0\r\ny", 5}},
                                               {"INCRBY", "b", "9007199254740993"},
                                               {"GET", "a"},
                                               {"GET", "none"},
                                               {"MGET", "a", "b"}}});
  ASSERT_TRUE(replies) << FenceError{replies.error()}.message;
  ASSERT_EQ(replies->size(), 5U);
  EXPECT_EQ((*replies)[0], "OK");
  EXPECT_EQ((*replies)[2], (std::string{"x\0\r\ny", 5}));
  EXPECT_EQ((*replies)[3], std::nullopt);
  EXPECT_EQ(askRedis(*connection_, {"GET", "b"}), Texts{"9007199254740993"});
  EXPECT_EQ(askRedis(*connection_, {"HGETALL", "tenure:fence:billing"}),
            (Texts{"lease", "billing", "token", "5", "holder", "a#1"}));
}

TEST_F(RedisFenceTest, anAnswerThatTheScriptCannotHaveGivenIsNoSuccess) {
  RedisFence fence = open();
  const RedisWrite write{{"n"}, {{"INCR", "n"}}};
  ASSERT_TRUE(fence.write(stamp(5), write));
  // Nobody has read the answer to this command. So from now on each answer is that of the previous command.
  redisAppendCommand(connection_.get(), "SET other 1");
  for (int i = 0; i < 3; ++i) {
    const auto answered = fence.write(stamp(5), write);
    ASSERT_TRUE(answered.has_error()) << "the answer to another command was taken for this one's";
    EXPECT_TRUE(FenceError{answered.error()}.writeError()->mayBeWritten);
  }
  redisAppendCommand(connection_.get(), "PING");
  EXPECT_TRUE(fence.highestSeen("none").has_error()) << "+OK is no proof that there is no token";
}

TEST_F(RedisFenceTest, survivesAKilledServer) {
  for (std::uint64_t token = 5; token < 10; ++token) {
    EXPECT_TRUE(open().write(stamp(token), {{"n"}, {{"INCR", "n"}}}));
    server_.kill();
    server_.start();
    reconnect();
    EXPECT_TRUE(open().write(stamp(token - 1), {{"n"}, {{"INCR", "n"}}}).has_error());
  }
  EXPECT_EQ(askRedis(*connection_, {"GET", "n"}), Texts{"5"});
}

TEST_F(RedisFenceTest, aLostConnectionIsToldAndNotBelieved) {
  std::signal(SIGPIPE, SIG_IGN);
  RedisFence fence = open();
  server_.kill();
  const auto lost = fence.write(stamp(5), {{"n"}, {{"INCR", "n"}}});
  ASSERT_TRUE(lost.has_error());
  const FenceError error = lost.error();
  EXPECT_TRUE(error.writeError()->mayBeWritten);
  EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::transient);
  const FenceError again = fence.write(stamp(5), {}).error();
  EXPECT_FALSE(again.writeError()->mayBeWritten) << "nothing is sent on a broken connection";
  server_.start();
}

TEST_F(RedisFenceTest, aScriptThatWasFlushedIsSentAgain) {
  RedisFence fence = open();
  askRedis(*connection_, {"SCRIPT", "FLUSH"});
  EXPECT_TRUE(fence.write(stamp(5), {{"n"}, {{"INCR", "n"}}}));
  EXPECT_EQ(askRedis(*connection_, {"GET", "n"}), Texts{"1"});
}

TEST_F(RedisFenceTest, aRefusedCommandEndsTheWriteThere) {
  RedisFence fence = open();
  askRedis(*connection_, {"SET", "text", "x"});
  const FenceError first = fence.write(stamp(5), {{"text", "n"}, {{"INCR", "text"}, {"INCR", "n"}}}).error();
  EXPECT_FALSE(first.writeError()->mayBeWritten);
  EXPECT_NE(first.message.find("command 1 of a fenced write: ERR value is not an integer"), std::string::npos)
      << first.message;
  const FenceError second = fence.write(stamp(5), {{"text", "n"}, {{"INCR", "n"}, {"INCR", "text"}}}).error();
  EXPECT_TRUE(second.writeError()->mayBeWritten) << "what was before stays";
  EXPECT_EQ(askRedis(*connection_, {"GET", "n"}), Texts{"1"});
}

TEST_F(RedisFenceTest, aWriteWhoseFirstCommandIsRefusedLeavesNoToken) {
  RedisFence fence = open();
  askRedis(*connection_, {"SET", "text", "x"});
  const RedisWrite refused{{"text"}, {{"INCR", "text"}}};
  EXPECT_TRUE(fence.write(stamp(5), refused).has_error());
  EXPECT_EQ(fence.highestSeen("billing").value(), std::nullopt);
  EXPECT_TRUE(fence.write(stamp(4), {}));
  EXPECT_TRUE(fence.write(stamp(5, "b#1"), refused).has_error());
  EXPECT_EQ(fence.highestSeen("billing").value(), stamp(4));
}

TEST_F(RedisFenceTest, aWriteThatChangesTheDatabaseIsRefused) {
  RedisFence fence = open();
  for (const char* name : {"SELECT", "select"}) {
    const auto refused = fence.write(stamp(5), {{"text"}, {{name, "1"}, {"SET", "text", "x"}}});
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(FenceError{refused.error()}.writeError()->error.errorClass, ErrorClass::misconfigured);
  }
  EXPECT_EQ(fence.highestSeen("billing").value(), std::nullopt);
}

TEST_F(RedisFenceTest, aConnectionMadeFromADescriptorHasAName) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  server_.socket().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const test::RedisConnection own{redisConnectFd(descriptor)};
  RedisFence fence = RedisFence::open(own.get()).value();
  const FenceError error = fence.write(stamp(5), {.commands = {RedisCommand{}}}).error();
  EXPECT_EQ(error.message.find("redis fd " + std::to_string(descriptor) + ": "), 0U) << error.message;
}

TEST_F(RedisFenceTest, aKeyThatHoldsNoTokenFailsClosed) {
  RedisFence fence = open();
  askRedis(*connection_, {"HSET", "tenure:fence:billing", "token", "1e9"});
  EXPECT_EQ(classOf(fence.write(stamp(5), {})), ErrorClass::corrupt);
  EXPECT_TRUE(fence.highestSeen("billing").has_error());
  askRedis(*connection_, {"DEL", "tenure:fence:billing"});
  askRedis(*connection_, {"SET", "tenure:fence:billing", "5"});
  EXPECT_TRUE(fence.write(stamp(5), {}).has_error());
}

TEST_F(RedisFenceTest, serversThatMayForgetTheTokenAreRefused) {
  askRedis(*connection_, {"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  EXPECT_TRUE(RedisFence::open(connection_.get()).has_error());
  askRedis(*connection_, {"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  EXPECT_TRUE(RedisFence::open(connection_.get(), {.requireAppendOnly = true}));
  askRedis(*connection_, {"CONFIG", "SET", "appendonly", "no"});
  EXPECT_TRUE(RedisFence::open(connection_.get(), {.requireAppendOnly = true}).has_error());
}

TEST_F(RedisFenceTest, aUserWhoMayNotAskForTheSettingsIsToldSo) {
  askRedis(*connection_, {"ACL", "SETUSER", "writer", "on", ">secret", "~*", "+@all", "-info"});
  askRedis(*connection_, {"AUTH", "writer", "secret"});
  EXPECT_TRUE(RedisFence::open(connection_.get())) << "the operator answers for the settings";
  const auto refused = RedisFence::open(connection_.get(), {.requireAppendOnly = true});
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(refused.error().message.find("give the user the right to INFO"), std::string::npos)
      << refused.error().message;
}

TEST_F(RedisFenceTest, aServerWithoutMemoryLeavesNothingBehind) {
  RedisFence fence = open();
  askRedis(*connection_, {"CONFIG", "SET", "maxmemory", "1"});
  const auto refused = fence.write(stamp(5), {{"n"}, {{"INCR", "n"}}});
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(classOf(refused), ErrorClass::throttled);
  askRedis(*connection_, {"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(fence.highestSeen("billing").value(), std::nullopt);
}

TEST_F(RedisFenceTest, waitsForReplicasIfAsked) {
  RedisFence fence = open({.waitReplicas = 1, .waitTimeout = std::chrono::milliseconds{50}});
  const FenceError error = fence.write(stamp(5), {{"n"}, {{"INCR", "n"}}}).error();
  EXPECT_TRUE(error.writeError()->mayBeWritten);
  EXPECT_EQ(askRedis(*connection_, {"GET", "n"}), Texts{"1"}) << "there is no replica, but the write is done";
}

TEST_F(RedisFenceTest, aWaitForReplicasThatTheServerRefusesIsNoLackOfReplicas) {
  RedisFence fence = open({.waitReplicas = 1});
  askRedis(*connection_, {"ACL", "SETUSER", "default", "-wait"});
  const FenceError error = fence.write(stamp(5), {{"n"}, {{"INCR", "n"}}}).error();
  askRedis(*connection_, {"ACL", "SETUSER", "default", "+@all"});
  EXPECT_TRUE(error.writeError()->mayBeWritten);
  EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::credentials);
  EXPECT_NE(error.message.find("for waitReplicas WAIT"), std::string::npos) << error.message;
}

TEST_F(RedisFenceTest, aWaitForReplicasWithoutALimitIsRefused) {
  const auto refused = RedisFence::open(connection_.get(), {.waitReplicas = 1, .waitTimeout = {}});
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(refused.error().message.find("waitTimeout must be greater than 0"), std::string::npos);
}

TEST_F(RedisFenceTest, theTokenHasTheDatasHashTag) {
  RedisFence fence = open({.hashTag = "account-7"});
  EXPECT_TRUE(fence.write(stamp(5), {{"{account-7}:n"}, {{"INCR", "{account-7}:n"}}}));
  EXPECT_EQ(askRedis(*connection_, {"HGET", "tenure:fence:{account-7}:billing", "token"}), Texts{"5"});
  EXPECT_TRUE(RedisFence::open(connection_.get(), {.hashTag = "{x}"}).has_error());
}

}  // namespace
}  // namespace tenure
