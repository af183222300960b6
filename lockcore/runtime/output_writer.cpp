#include "output_writer.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <poll.h>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <climits>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/logger.hpp>

#include "lockcore/port/log_line.hpp"
#include "process_mark.hpp"
#include "thread.hpp"

namespace tenure {
namespace {

/// Then the thread ends, and the next text starts another.
constexpr std::chrono::milliseconds quietTime{100};

bool takesMore(int fd, int timeoutMillis) noexcept {
  pollfd entry{fd, POLLOUT, 0};
  return poll(&entry, 1, timeoutMillis) > 0;
}

/// 0 or an errno; `text` becomes what was not written.
int writeAll(int fd, std::string_view& text) noexcept {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      takesMore(fd, -1);  // whoever shares this open file has set O_NONBLOCK
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

std::string lossLine(std::uint64_t count, LogFormat format) {
  const std::string line = std::to_string(count) + " lines were lost here: stderr was blocked";
  const LogField field{"count", static_cast<std::int64_t>(count)};
  return logLine(format, wallClockTextForDisplay(wallClockMillisForDisplay()),
                 {LogLevel::warn, line, LogEvent::linesLost, {&field, 1}});
}

}  // namespace

/// Owned by the writer and by its thread.
class OutputWriter::Queue : public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(int fd) noexcept : fd_{fd} {}

  void post(std::string text, LogFormat format);
  int flush(std::optional<std::chrono::nanoseconds> atMost);
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(); }

 private:
  using Guard = std::unique_lock<std::mutex>;
  struct Entry {
    std::string text;
    LogFormat format;
    std::uint64_t lostBefore;
  };
  struct Batch {
    std::string text;
    std::vector<std::size_t> ends;  ///< of each entry in `text`
  };

  void run();
  [[nodiscard]] Batch firstBatch() const;
  void finish(const Batch& batch, std::size_t written, int error);
  void popFirst();
  void lose(std::uint64_t count, LogFormat format) noexcept;
  [[nodiscard]] bool startThread();
  void writeWithoutThread();

  const int fd_;
  std::atomic<std::uint64_t> dropped_{0};
  std::mutex mutex_;  ///< guards what follows; never held during a write by the thread
  std::condition_variable wake_;
  std::condition_variable written_;
  std::deque<Entry> entries_{};  ///< the first ones may be under way
  std::size_t bytes_{0};         ///< of all entries
  std::uint64_t posted_{0};
  std::uint64_t done_{0};
  std::uint64_t lost_{0};  ///< after the last entry
  LogFormat lostFormat_{LogFormat::text};
  int error_{0};
  bool fails_{false};  ///< the last write did
  bool cut_{false};    ///< and has left a part of a line
  bool runs_{false};
};

void OutputWriter::Queue::post(std::string text, LogFormat format) {
  const Guard lock{mutex_};
  if (bytes_ > 0 && bytes_ + text.size() > mostBytes) {
    ++dropped_;
    return lose(1, format);
  }
  bytes_ += text.size();
  ++posted_;
  entries_.push_back({std::move(text), format, std::exchange(lost_, 0)});
  if (startThread()) return wake_.notify_one();
  writeWithoutThread();
}

void OutputWriter::Queue::lose(std::uint64_t count, LogFormat format) noexcept {
  lost_ += count;
  lostFormat_ = format;
}

bool OutputWriter::Queue::startThread() {
  if (runs_) return true;
  try {
    detail::startDetachedThread("tenure-output", [self = shared_from_this()] { self->run(); });
    runs_ = true;
  } catch (const std::system_error&) {
    // No threads are allowed just when a program has to say so. The next text tries again.
  }
  return runs_;
}

void OutputWriter::Queue::run() {
  Guard lock{mutex_};
  for (;;) {
    if (!wake_.wait_for(lock, quietTime, [this] { return !entries_.empty(); })) {
      runs_ = false;
      return;
    }
    const Batch batch = firstBatch();
    std::string_view rest{batch.text};
    lock.unlock();
    const int error = writeAll(fd_, rest);
    lock.lock();
    finish(batch, batch.text.size() - rest.size(), error);
    if (!entries_.empty() || lost_ == 0 || fails_) continue;
    entries_.push_back({{}, lostFormat_, std::exchange(lost_, 0)});  // the count is told without another line
    ++posted_;
  }
}

/// A write for each line is slower than threads that log. What is larger than PIPE_BUF could mix with what other
/// processes write to the same pipe.
OutputWriter::Queue::Batch OutputWriter::Queue::firstBatch() const {
  Batch batch{cut_ ? "\n" : "", {}};
  for (const Entry& entry : entries_) {
    const std::string loss = entry.lostBefore > 0 ? lossLine(entry.lostBefore, entry.format) : "";
    if (!batch.ends.empty() && batch.text.size() + loss.size() + entry.text.size() > PIPE_BUF) break;
    batch.text.append(loss).append(entry.text);
    batch.ends.push_back(batch.text.size());
  }
  return batch;
}

void OutputWriter::Queue::finish(const Batch& batch, std::size_t written, int error) {
  std::size_t whole = cut_ ? 1 : 0;
  std::uint64_t lost = 0;
  LogFormat format{};
  for (const std::size_t end : batch.ends) {
    const Entry& first = entries_.front();
    if (written >= end) {
      whole = end;
    } else {
      const unsigned own = first.text.empty() ? 0 : 1;
      dropped_ += own;
      lost += first.lostBefore + own;
      format = first.format;
    }
    popFirst();
  }
  if (written > 0) cut_ = written > whole;
  fails_ = error != 0;
  if (fails_) error_ = error == ETIMEDOUT ? EIO : error;  // ETIMEDOUT of flush() says that the write may still succeed
  if (lost > 0 && entries_.empty()) lose(lost, format);
  if (lost > 0 && !entries_.empty()) entries_.front().lostBefore += lost;
  written_.notify_all();
}

void OutputWriter::Queue::popFirst() {
  bytes_ -= entries_.front().text.size();
  entries_.pop_front();
  ++done_;
}

/// A pipe that is writable takes PIPE_BUF bytes, unless another process has just filled it.
void OutputWriter::Queue::writeWithoutThread() {
  while (!entries_.empty() && takesMore(fd_, 0)) {
    const Batch batch = firstBatch();
    std::string_view rest = std::string_view{batch.text}.substr(0, PIPE_BUF);
    const std::size_t size = rest.size();
    const int error = writeAll(fd_, rest);
    if (error != 0 || size == batch.text.size()) {
      finish(batch, size - rest.size(), error);
      continue;
    }
    Entry& first = entries_.front();  // the only one of a batch that is so long
    bytes_ -= first.text.size();
    first = {batch.text.substr(size), first.format, 0};
    bytes_ += first.text.size();
    cut_ = false;
  }
}

int OutputWriter::Queue::flush(std::optional<std::chrono::nanoseconds> atMost) {
  Guard lock{mutex_};
  const Instant begun = readClock();
  const std::uint64_t until = posted_;
  const auto isDone = [&] { return done_ >= until; };
  const auto left = [&] { return atMost ? *atMost - elapsedForHolder(begun, readClock()) : patienceAtExit; };
  while (!runs_) {
    writeWithoutThread();
    const auto millis = std::chrono::ceil<std::chrono::milliseconds>(left()).count();
    if (isDone() || millis <= 0) break;
    lock.unlock();
    takesMore(fd_, static_cast<int>(millis));
    lock.lock();
  }
  if (atMost) {
    written_.wait_for(lock, left(), isDone);
  } else {
    written_.wait(lock, isDone);
  }
  return isDone() ? std::exchange(error_, 0) : ETIMEDOUT;
}

OutputWriter::OutputWriter(int fd) : queue_{std::make_shared<Queue>(fd)} {}
void OutputWriter::post(std::string text, LogFormat format) { queue_->post(std::move(text), format); }
int OutputWriter::flush(std::optional<std::chrono::nanoseconds> atMost) { return queue_->flush(atMost); }
std::uint64_t OutputWriter::dropped() const noexcept { return queue_->dropped(); }

namespace {

struct Writers {
  OutputWriter out{STDOUT_FILENO};
  OutputWriter err{STDERR_FILENO};
};

constinit detail::PerProcess<Writers> perProcess;

/// Waits a second at most in all calls together. A forked child has nothing of its parent's to write.
void flushAtEnd() noexcept {
  static std::chrono::nanoseconds left{OutputWriter::patienceAtExit};
  Writers& here = perProcess.get();
  for (OutputWriter* writer : {&here.err, &here.out}) {
    const Instant begun = readClock();
    writer->flush(left);
    left = std::max(left - elapsedForHolder(begun, readClock()), std::chrono::nanoseconds{0});
  }
}

/// After the destructors of static objects, which may log as well.
__attribute__((destructor)) void flushAtLast() noexcept { flushAtEnd(); }

Writers& writers() {
  static std::atomic<bool> registered{false};
  // Before handlers that were registered earlier: such a handler may close stderr.
  if (!registered.exchange(true)) std::atexit(flushAtEnd);
  return perProcess.get();
}

}  // namespace

OutputWriter& stdoutWriter() { return writers().out; }
OutputWriter& stderrWriter() { return writers().err; }

std::uint64_t linesDropped() noexcept { return stderrWriter().dropped(); }

Logger Logger::toStderr(LogLevel level, LogFormat format) {
  return ofRecords(level, [format](const LogRecord& record) {
    stderrWriter().post(logLine(format, wallClockTextForDisplay(wallClockMillisForDisplay()), record), format);
  });
}

}  // namespace tenure
