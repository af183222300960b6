// A fenced writer for Redis: one Lua script checks the fencing token and runs your commands.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/fence.hpp>

struct redisContext;

namespace tenure {

struct RedisFenceOptions {
  std::string prefix{"tenure:fence:"};  ///< of the keys that hold the tokens
  /// On a cluster: the text in braces that all keys of a write have, `{account-7}:balance`. The token is then kept in
  /// the same hash slot, and tags do not know of each other's tokens. Empty: the key is prefix + lease.
  std::string hashTag{};
  /// WAIT after each write: with fewer replicas inside of `waitTimeout` a write is trouble with `mayBeWritten`. It
  /// makes a loss at a failover less likely, not impossible.
  int waitReplicas{0};
  std::chrono::milliseconds waitTimeout{1'000};
  /// Refuse a server that does not write an append-only file.
  bool requireAppendOnly{false};
};

/// One command, the name first: {"SET", "balance", "7"}. At most 4,000 words.
using RedisCommand = std::vector<std::string>;

struct RedisWrite {
  std::vector<std::string> keys{};  ///< all keys of the commands, as a cluster wants to know them
  std::vector<RedisCommand> commands{};
};

/// What each command answered: integers in decimal, arrays as JSON; empty for nil.
using RedisReplies = std::vector<std::optional<std::string>>;

/// The script runs alone on the server, so that the comparison, the remembered token and the commands are one step. Not
/// one that is rolled back: a command that Redis refuses (WRONGTYPE) ends the script there, and what the commands
/// before it did stays, as does the token; that is trouble with `mayBeWritten` unless it was the first.
///
/// The tokens live in hashes beside the data, and go where the data goes: into its append-only file and its replicas.
/// What a crash or a failover takes back, it takes back together. After that a former leader can write until its
/// successor has written again: docs/fencing/redis.md.
///
/// The connection stays the caller's: it must outlive the fence, and both are used by one thread at a time. Set its
/// time-out with redisSetTimeout, and ignore SIGPIPE, which hiredis lets a broken connection raise. After trouble with
/// the connection connect again and open another fence.
class RedisFence {
 public:
  /// Loads the script. Refuses (`misconfigured`) servers that throw keys away when memory is short (maxmemory-policy
  /// allkeys-*): the token could be among them.
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
