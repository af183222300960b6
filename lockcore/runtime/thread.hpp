// Internal: how the library starts its threads.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace tenure::detail {

/// A thread with a readable name (at most 15 characters are kept) that takes no signals, so that a program's handlers
/// run on the program's own threads. Throws std::system_error if the system gives no thread. What it touches it must
/// own: see leaveThread().
[[nodiscard]] std::thread startThread(const std::string& name, std::function<void()> body);

/// The same for a thread that nobody ever waits for, and which may therefore wait for others: leaveThread() does so.
void startDetachedThread(const std::string& name, std::function<void()> body);

/// For the destructor of what owns a thread, once that was told to end. Waits for it, except on a thread of
/// startThread(): the last reference to a client goes where a handler ends, on any of them, and two that each ended
/// the other's owner would wait for each other for ever.
void leaveThread(std::thread& thread);

}  // namespace tenure::detail
