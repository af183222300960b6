#include "fence_redis.hpp"

#include <csignal>
#include <filesystem>
#include <hiredis/hiredis.h>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <tenure/adapters/redis_fence.hpp>

namespace tenure::bench {
namespace redis_bench {

/// The process of a server that answers on `directory`/redis.sock.
class Server {
 public:
  explicit Server(const std::string& directory) : pid_{start(directory)} {}
  ~Server() {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  static pid_t start(const std::string& directory) {
    std::vector<std::string> words{"redis-server",
                                   "--port",
                                   "0",
                                   "--unixsocket",
                                   "redis.sock",
                                   "--dir",
                                   ".",
                                   "--appendonly",
                                   "yes",
                                   "--appendfsync",
                                   "always",
                                   "--save",
                                   "",
                                   "--loglevel",
                                   "warning",
                                   "--logfile",
                                   "log"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("fork");
    if (pid > 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || chdir(directory.c_str()) != 0) _exit(127);
    // Debian's package redis-tools has the server under this name. argv[0] decides what the program does.
    execvp("redis-check-rdb", argv.data());
    _exit(127);
  }

  const pid_t pid_;
};

}  // namespace redis_bench

namespace {

using Reply = std::unique_ptr<void, void (*)(void*)>;

const std::string redisEntry = "an entry of some forty bytes, as ledgers have";

redisContext* connectRedis(const std::string& socket) {
  for (int tries = 0; tries < 1'000; ++tries) {
    redisContext* connection = redisConnectUnix(socket.c_str());
    if (connection != nullptr && connection->err == 0) return connection;
    redisFree(connection);
    poll(nullptr, 0, 10);
  }
  throw std::runtime_error("no Redis came up; scripts/setup installs redis-tools");
}

const std::string& madeFolder(const std::string& directory) {
  std::filesystem::create_directory(directory);
  return directory;
}

}  // namespace

class RedisWrites::Impl {
 public:
  Impl(const std::string& directory, TermStamp stamp)
      : server_{madeFolder(directory)},
        connection_{connectRedis(directory + "/redis.sock"), &redisFree},
        stamp_{std::move(stamp)} {
    fence_.emplace(RedisFence::open(connection_.get(), {.requireAppendOnly = true}).value());
  }

  void bare() {
    const Reply reply{redisCommand(connection_.get(), "RPUSH ledger %b", redisEntry.data(), redisEntry.size()),
                      &freeReplyObject};
    if (!reply || static_cast<redisReply*>(reply.get())->type != REDIS_REPLY_INTEGER) {
      throw std::runtime_error("RPUSH was refused");
    }
  }
  void fenced() {
    const auto written = fence_->write(stamp_, write_);
    if (written.has_error()) throw std::runtime_error(FenceError{written.error()}.message);
  }

 private:
  const redis_bench::Server server_;
  const std::unique_ptr<redisContext, void (*)(redisContext*)> connection_;
  const TermStamp stamp_;
  const RedisWrite write_{{"ledger"}, {{"RPUSH", "ledger", redisEntry}}};
  std::optional<RedisFence> fence_;
};

RedisWrites::RedisWrites(const std::string& directory, TermStamp stamp)
    : impl_{std::make_unique<Impl>(directory, std::move(stamp))} {}
RedisWrites::~RedisWrites() = default;
void RedisWrites::bare() { impl_->bare(); }
void RedisWrites::fenced() { impl_->fenced(); }

}  // namespace tenure::bench
