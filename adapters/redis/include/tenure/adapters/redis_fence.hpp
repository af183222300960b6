// A fenced writer for Redis: one Lua script checks the fencing token and runs your commands.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>

struct redisContext;

namespace tenure {

struct RedisFenceOptions {
  std::string prefix{"tenure:fence:"};  ///< of the keys that hold the tokens
  /// For a cluster: the text in braces that all keys of a write contain, as in `{account-7}:balance`. The token is then
  /// kept in the same hash slot. Different tags do not know each other's tokens. Empty: the key is prefix + lease.
  std::string hashTag{};
  /// WAIT after each write. If fewer replicas confirm within `waitTimeout`, the write is WriteError with
  /// `mayBeWritten`. This makes a loss at a failover less likely, not impossible.
  int waitReplicas{0};
  std::chrono::milliseconds waitTimeout{1'000};  ///< more than 0
  /// Refuse a server that does not write an append-only file.
  bool requireAppendOnly{false};
};

/// One command, the name first: {"SET", "balance", "7"}. At most 4,000 words.
using RedisCommand = std::vector<std::string>;

struct RedisWrite {
  std::vector<std::string> keys{};  ///< all keys of the commands, as a cluster wants to know them
  std::vector<RedisCommand> commands{};
};

/// The answer of each command: integers in decimal, arrays as JSON, in which Redis rounds integers to 14
/// digits; empty for nil.
using RedisReplies = std::vector<std::optional<std::string>>;

/// The script runs alone on the server, so the comparison, the remembered token and the commands are one step. This
/// step is not rolled back: a command that Redis refuses (WRONGTYPE) ends the script there. Effects of earlier commands
/// stay, and so does the token. That is WriteError with `mayBeWritten`, unless the refused command was the first.
///
/// The tokens are in hashes next to the data, and go where the data goes: into its append-only file and its replicas. A
/// crash or a failover that takes writes back takes their tokens back with them. After that a former leader can write
/// until its successor has written again: docs/fencing/redis.md.
///
/// The connection belongs to the caller. It must outlive the fence, and only one thread at a time uses both. Set its
/// time-out with redisSetTimeout, and ignore SIGPIPE: hiredis lets a broken connection raise it. After an error of the
/// connection, connect again and open another fence.
class TENURE_API RedisFence {
 public:
  /// Loads the script. Refuses (`misconfigured`) servers that delete keys when memory is short (maxmemory-policy
  /// allkeys-*): the token could be among these keys.
  [[nodiscard]] static FenceResult<RedisFence> open(redisContext* connection, RedisFenceOptions options = {});

  ~RedisFence();
  RedisFence(RedisFence&&) noexcept;
  RedisFence& operator=(RedisFence&&) noexcept;

  [[nodiscard]] FenceResult<RedisReplies> write(const TermStamp& stamp, const RedisWrite& what);
  /// The same under a term: see underTerm.
  [[nodiscard]] FenceResult<RedisReplies> write(const FencedTerm& term, const RedisWrite& what) {
    return underTerm(term, [&](const TermStamp& stamp) { return write(stamp, what); });
  }

  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease);

 private:
  class Impl;
  explicit RedisFence(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
