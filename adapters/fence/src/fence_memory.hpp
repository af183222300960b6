// What a resource remembers of a lease, for an operator who sets it right: `tenure fence recover`.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <tenure/lockcore/fence.hpp>

namespace tenure {

/// A fence only lets its tokens rise; this sets them, also down. Whoever does that waives invariant I7 for the
/// resource: terms above the new token that are over may write again until the next leader has written. So first no
/// candidate may live, nor a former leader's work. Blocks; one thread at a time.
class FenceMemory {
 public:
  virtual ~FenceMemory() = default;

  /// The resource, for people.
  [[nodiscard]] virtual std::string describe() const = 0;

  /// The token as it is stored, also where it is none; empty if the resource remembers nothing of the lease.
  [[nodiscard]] virtual FenceResult<std::string> stored(const std::string& lease) = 0;

  /// Makes it remember `memory`, of which a term with that token or a lower one is refused from then on: its holder is
  /// nobody's.
  [[nodiscard]] virtual FenceResult<void> set(const TermStamp& memory) = 0;
};

/// The holder of a memory that was set.
inline constexpr const char* recoveredHolder = "tenure fence recover";

}  // namespace tenure
