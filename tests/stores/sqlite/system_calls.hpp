// System calls of the store's code in which a test can act. The linker redirects them to this file (LINKER:--wrap), so
// the product contains nothing for it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace tenure::sqlite_test {

/// Each hook is called on the thread of the call, before the call is made (one: after it), with the path of the call.
/// Null: no hook.
struct CallHooks {
  std::function<void(const std::string& path)> beforeUnlink{};
  std::function<void(const std::string& path)> beforeWatch{};
  std::function<void()> afterWakeUp{};  ///< after an eventfd was written, which wakes the thread that watches files
  std::function<void()> beforeLook{};   ///< before a lock is tried, as shared
  /// How many bytes of a liveness file, or of its draft, still fit on the disk; empty: all.
  std::optional<std::size_t> roomForLivenessFile{};
  /// The type of the file system that statfs(2) tells, as in linux/magic.h; empty: the true one.
  std::optional<long> fileSystemType{};
};

/// The hooks are active for as long as this lives; one at a time. What they use must outlive the store's threads.
class HookedCalls {
 public:
  explicit HookedCalls(CallHooks hooks);
  ~HookedCalls();
  HookedCalls(const HookedCalls&) = delete;
  HookedCalls& operator=(const HookedCalls&) = delete;
};

}  // namespace tenure::sqlite_test
