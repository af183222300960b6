#include "adapters/redis/redis_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <unistd.h>

namespace tenure::test {

RedisConnection connectRedis(const std::string& socket) {
  RedisConnection connection{redisConnectUnix(socket.c_str())};
  if (!connection || connection->err != 0) throw std::runtime_error{"no Redis at " + socket};
  return connection;
}

std::vector<std::string> askRedis(redisContext& connection, const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  std::unique_ptr<void, void (*)(void*)> raw{
      redisCommandArgv(&connection, static_cast<int>(words.size()), texts.data(), lengths.data()), freeReplyObject};
  auto* root = static_cast<redisReply*>(raw.get());
  if (root == nullptr) throw std::runtime_error{connection.errstr};
  if (root->type == REDIS_REPLY_ERROR) throw std::runtime_error{std::string{root->str, root->len}};
  std::vector<std::string> out;
  const auto add = [&](const redisReply& one) {
    if (one.type == REDIS_REPLY_INTEGER) {
      out.push_back(std::to_string(one.integer));
    } else if (one.type != REDIS_REPLY_NIL) {
      out.emplace_back(one.str, one.len);
    }
  };
  if (root->type == REDIS_REPLY_ARRAY) {
    for (std::size_t i = 0; i < root->elements; ++i) add(*root->element[i]);
  } else {
    add(*root);
  }
  return out;
}

void RedisServer::start() {
  // Debian's redis-tools contain the server's program under this name; it looks at the name by which it was started.
  std::vector<std::string> words{"bash",
                                 "-c",
                                 "exec -a redis-server redis-check-rdb \"$@\"",
                                 "bash",
                                 "--port",
                                 "0",
                                 "--unixsocket",
                                 socket(),
                                 "--dir",
                                 directory_.path().string(),
                                 "--appendonly",
                                 "yes",
                                 "--appendfsync",
                                 "always",
                                 "--save",
                                 "",
                                 "--daemonize",
                                 "no",
                                 "--loglevel",
                                 "warning"};
  process_.emplace(words, [] { dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO); });
  for (int tries = 0; tries < 3'000; ++tries) {
    const RedisConnection connection{redisConnectUnix(socket().c_str())};
    if (connection && connection->err == 0) {
      try {
        if (askRedis(*connection, {"PING"}) == std::vector<std::string>{"PONG"}) return;
      } catch (const std::runtime_error&) {  // it is still loading its file
      }
    }
    poll(nullptr, 0, 10);
  }
  throw std::runtime_error{"redis-server did not come up"};
}

void RedisServer::kill() {
  process_.reset();
  ::unlink(socket().c_str());
}

}  // namespace tenure::test
