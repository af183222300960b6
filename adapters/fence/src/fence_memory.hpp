// What a resource remembers about a lease, for an operator who corrects it: `tenure fence recover`.
#pragma once

#include <memory>
#include <string>
#include <utility>

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

}  // namespace tenure
