// System calls of the store's code that a test steps into. The linker leads them through here (LINKER:--wrap), so the
// product has nothing for it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace tenure::sqlite_test {

/// Each is called on the thread of the call, before it is made, with the path that it is about. Null: nothing.
struct CallHooks {
  std::function<void(const std::string& path)> beforeUnlink{};
  std::function<void(const std::string& path)> beforeWatch{};
  std::function<void()> beforeLook{};  ///< of a lock that is tried, as shared
  /// How many bytes of a beacon, or of its draft, still find room on the disk; empty: all.
  std::optional<std::size_t> roomForBeacon{};
};

/// As long as this lives; one at a time. What it was given must outlive the store's threads.
class HookedCalls {
 public:
  explicit HookedCalls(CallHooks hooks);
  ~HookedCalls();
  HookedCalls(const HookedCalls&) = delete;
  HookedCalls& operator=(const HookedCalls&) = delete;
};

}  // namespace tenure::sqlite_test
