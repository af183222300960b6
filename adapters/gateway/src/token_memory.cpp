#include "token_memory.hpp"

#include <algorithm>
#include <utility>

#include "lockcore/runtime/thread.hpp"

namespace tenure::http_fence {

StoreResult<std::unique_ptr<TokenMemory>> TokenMemory::open(const std::string& path) {
  auto file = TokenFile::open(path);
  if (file.has_error()) return file.error();
  auto found = (*file)->takeOver();
  if (found.has_error()) return found.error();
  return std::make_unique<TokenMemory>(*std::move(file), *std::move(found));
}

TokenMemory::TokenMemory(std::unique_ptr<TokenFile> file, TokenFile::Content found)
    : file_{std::move(file)}, found_{std::move(found)} {}

void TokenMemory::start(OnWritten onWritten, std::chrono::milliseconds wait, std::function<void()> onWaitOver) {
  onWritten_ = std::move(onWritten);
  onWaitOver_ = std::move(onWaitOver);
  wait_ = wait;
  waitsFrom_ = readClock();
  thread_ = detail::startThread("tenure-fence", [this] { run(); });
}

void TokenMemory::remember(const TermMarks& marks) {
  const std::lock_guard lock{mutex_};
  const auto [at, isNew] = pending_.try_emplace(marks.seen.lease, marks);
  TermMarks& pending = at->second;
  if (!isNew && pending.seen.token <= marks.seen.token) pending.seen = marks.seen;
  // An earlier wish to mark stays true: no request of another term has passed since.
  if (!isNew) pending.passed = std::max(pending.passed, marks.passed);
  changed_.notify_one();
}

void TokenMemory::run() {
  std::unique_lock lock{mutex_};
  for (;;) {
    // Requests that a killed fence let pass may still be under way, so the wait must not be too short. A challenger's
    // count is never more than the time that really passed, and leaves out what this machine, and perhaps the service
    // with it, was suspended.
    const auto left = wait_ - elapsedForChallenger(waitsFrom_, readClock());
    if (onWaitOver_ && left.count() <= 0) {
      const auto tell = std::exchange(onWaitOver_, nullptr);
      lock.unlock();
      tell();
      lock.lock();
      continue;
    }
    if (!pending_.empty()) {
      const auto marks = std::exchange(pending_, {});
      lock.unlock();
      write(marks);
      lock.lock();
      continue;
    }
    if (closing_) return;
    if (onWaitOver_) {
      changed_.wait_for(lock, left);
    } else {
      changed_.wait(lock);
    }
  }
}

void TokenMemory::write(const TokenFile::Marks& marks) {
  const std::optional<StoreError> failure = file_->raise(marks);
  const auto error = failure ? std::optional{fenceError(*failure)} : std::nullopt;
  for (const auto& [lease, mark] : marks) onWritten_(mark, error);
}

void TokenMemory::close(bool clean) {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock{mutex_};
      closing_ = true;
      changed_.notify_one();
    }
    thread_.join();
  }
  file_->close(clean);
}

TokenMemory::~TokenMemory() { close(false); }

}  // namespace tenure::http_fence
