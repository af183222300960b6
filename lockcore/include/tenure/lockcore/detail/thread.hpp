// Internal: how the library starts its threads.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace tenure::detail {

/// A thread with a readable name (at most 15 characters are kept) that takes no signals, so that a program's handlers
/// run on the program's own threads. Throws std::system_error if the system gives no thread.
[[nodiscard]] std::thread startThread(const std::string& name, std::function<void()> body);

}  // namespace tenure::detail
