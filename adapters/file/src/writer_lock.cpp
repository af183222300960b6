#include "writer_lock.hpp"

#include <algorithm>
#include <cerrno>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/random_draws.hpp"
#include "lockcore/port/saturating_time.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::file_fence {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds firstStep = std::chrono::microseconds{100};
constexpr nanoseconds lastStep = std::chrono::microseconds{500};  // about as long as a write on a fast disk

}  // namespace

WriterLock::Fault WriterLock::waitFor(const std::string& name, const std::function<int()>& lock) {
  SystemRandom random;
  for (nanoseconds longest = firstStep;; longest = std::min(longest * 2, lastStep)) {
    const int code = lock();
    if (code == 0) return std::nullopt;
    const nanoseconds left = saturating::in<nanoseconds>(names_.lockTimeout) - elapsedForHolder(start_, readClock());
    if (code != -EWOULDBLOCK || left <= nanoseconds{0}) {
      return names_.errorOf("locking " + names_.whole(name), -code);
    }
    files_.pause(std::min(left, jittered(random, longest)));
  }
}

WriterLock::Fault WriterLock::during(const std::function<Fault(const Held&)>& step) {
  start_ = readClock();
  const OpenFile directory{files_, files_.openDirectory(names_.directory)};
  if (directory.get() < 0) return names_.errorOf("opening its directory " + names_.directory, -directory.get());
  return lockFirst(directory.get(), [&](int lock) { return lockFence({directory.get(), lock}, step); });
}

/// Writers wait in a queue of one place. Otherwise a writer that writes without a break would keep all others out,
/// because writers that poll come too late each time.
WriterLock::Fault WriterLock::lockFirst(int directory, const std::function<Fault(int)>& then) {
  for (;;) {
    const OpenFile lock{files_, files_.open(directory, names_.lock, Files::Kind::lock)};
    if (lock.get() < 0) return names_.errorOf("opening " + names_.whole(names_.lock), -lock.get());
    if (auto late = waitFor(names_.lock, [&] { return files_.queue(lock.get()); })) return late;
    if (auto late = waitFor(names_.lock, [&] { return files_.lock(lock.get()); })) return late;
    files_.unqueue(lock.get());
    // Removed while this writer waited for it: others may have the one that has the name now.
    const int named = files_.isNamed(directory, names_.lock, lock.get());
    if (named < 0) return names_.errorOf("examining " + names_.whole(names_.lock), -named);
    if (named != 0) return then(lock.get());
  }
}

WriterLock::Fault WriterLock::lockFence(Held held, const std::function<Fault(const Held&)>& step) {
  for (;;) {
    const OpenFile fence{files_, files_.open(held.directory, names_.fence, Files::Kind::beside)};
    if (fence.get() == -ENOENT) return step(held);
    if (fence.get() < 0) return names_.errorOf("opening the fence " + names_.whole(names_.fence), -fence.get());
    if (auto late = waitFor(names_.fence, [&] { return files_.lock(fence.get()); })) return late;
    // Replaced by the writer whose lock this one has waited for.
    const int named = files_.isNamed(held.directory, names_.fence, fence.get());
    if (named < 0) return names_.errorOf("examining the fence " + names_.whole(names_.fence), -named);
    if (named == 0) continue;
    held.fence = fence.get();
    return step(held);
  }
}

WriterLock::Fault WriterLock::lost(const Held& held) {
  const auto gone = [&](const std::string& what) {
    return fenceError({ErrorClass::transient, "file " + names_.path + ": " + what +
                                                  " was removed or replaced during the write, which was given up; "
                                                  "leave the files next to it alone while there are writers"});
  };
  const auto isGone = [&](const std::string& name, int fd) {
    return fd >= 0 && files_.isNamed(held.directory, name, fd) != 1;
  };
  if (isGone(names_.lock, held.lock)) return gone("its lock " + names_.whole(names_.lock));
  if (isGone(names_.fence, held.fence)) return gone("its fence " + names_.whole(names_.fence));
  if (files_.leadsTo(names_.directory, held.directory) != 1) return gone("its directory " + names_.directory);
  return std::nullopt;
}

}  // namespace tenure::file_fence
