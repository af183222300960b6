// What a resource remembers about a lease, for an operator who corrects it: `tenure fence recover`.
#pragma once

#include <memory>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>

namespace tenure {

/// A fence only lets its tokens rise; this interface sets them, also to a lower one. That gives up invariant I7 for the
/// resource: old terms above the new token may write again until the next leader has written. So before it is used, no
/// candidate may live, and no work of a former leader. Blocks; one thread at a time.
class FenceMemory {
 public:
  virtual ~FenceMemory() = default;

  /// The resource, for people.
  [[nodiscard]] virtual std::string describe() const = 0;

  /// The token as it is stored, even where it is malformed; empty if the resource remembers nothing about the lease.
  [[nodiscard]] virtual FenceResult<std::string> stored(const std::string& lease) = 0;

  /// Makes the resource remember `memory`. From then on a term with that token or a lower one is refused, because the
  /// holder in `memory` is no candidate.
  [[nodiscard]] virtual FenceResult<void> set(const TermStamp& memory) = 0;
};

/// The holder of a memory that an operator has set.
inline constexpr const char* recoveredHolder = "tenure fence recover";

// Each adapter that has such a memory defines its own.

/// The memory of a FencedFile, PATH.fence. `path` is that of the file, without `.fence`. An error if the file is no
/// fenced file, or if its fence cannot be read. The content stays as it is.
[[nodiscard]] TENURE_API FenceResult<std::unique_ptr<FenceMemory>> openFencedFileMemory(const std::string& path);

/// The memory of an HttpFence, and so of `tenure fence proxy`. Locks the file as the fence does. An error while a fence
/// has it open (a fence keeps what it knows in memory), and if the file is none that a fence has made; then nothing of
/// it is changed.
[[nodiscard]] TENURE_API FenceResult<std::unique_ptr<FenceMemory>> openHttpFenceMemory(const std::string& path);

/// What SqliteFence and the triggers of sqliteFenceSql remember, in a database's file. A `misconfigured` error if there
/// is no such file, or if it has no table tenure_fence_guard of theirs; then nothing of it is changed. Waits up to five
/// seconds for other writers.
[[nodiscard]] TENURE_API FenceResult<std::unique_ptr<FenceMemory>> openSqliteFenceMemory(const std::string& file);

}  // namespace tenure
