// Internal: how the library starts its threads.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include <tenure/lockcore/export.hpp>

namespace tenure::detail {

/// A thread with a readable name (at most 15 characters are kept). It takes no signals, so a program's handlers run on
/// the program's own threads. Throws std::system_error if the system gives no thread. The thread must own everything
/// that it uses: see leaveThread().
[[nodiscard]] TENURE_API std::thread startThread(const std::string& name, std::function<void()> body);

/// The same for a thread that nobody ever waits for. Such a thread may wait for others, and leaveThread() does so on
/// it.
TENURE_API void startDetachedThread(const std::string& name, std::function<void()> body);

/// For the destructor of an object that owns a thread, after the thread was told to end. Waits for the thread, except
/// on a thread of startThread(). The last reference to a client may be dropped at the end of a handler, on any such
/// thread. If two of them each destroyed the other's owner, they would wait for each other for ever.
TENURE_API void leaveThread(std::thread& thread);

}  // namespace tenure::detail
