#include "output_writer.hpp"

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <poll.h>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <climits>

#include <tenure/lockcore/clock.hpp>

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

/// 0 or an errno; `text` is what was not written.
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
  const std::string line = std::to_string(count) + " lines were lost here: stderr took no more";
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

  void run();
  [[nodiscard]] std::string textOfFirst() const;
  void finishFirst(int error, bool begun);
  void lose(std::uint64_t count, LogFormat format) noexcept;
  [[nodiscard]] bool startThread();
  void writeWithoutThread();

  const int fd_;
  std::atomic<std::uint64_t> dropped_{0};
  std::mutex mutex_;  ///< guards what follows; never held during a write by the thread
  std::condition_variable wake_;
  std::condition_variable written_;
  std::deque<Entry> entries_{};  ///< the first one may be under way
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
    const std::string text = textOfFirst();
    std::string_view rest{text};
    lock.unlock();
    const int error = writeAll(fd_, rest);
    lock.lock();
    finishFirst(error, rest.size() < text.size());
    if (!entries_.empty() || lost_ == 0 || fails_) continue;
    entries_.push_back({{}, lostFormat_, std::exchange(lost_, 0)});  // the count is told without another line
    ++posted_;
  }
}

std::string OutputWriter::Queue::textOfFirst() const {
  const Entry& first = entries_.front();
  std::string text = cut_ ? "\n" : "";
  if (first.lostBefore > 0) text += lossLine(first.lostBefore, first.format);
  return text += first.text;
}

void OutputWriter::Queue::finishFirst(int error, bool begun) {
  const Entry first = std::move(entries_.front());
  entries_.pop_front();
  bytes_ -= first.text.size();
  ++done_;
  fails_ = error != 0;
  cut_ = fails_ && (cut_ || begun);
  if (fails_) {
    const unsigned own = first.text.empty() ? 0 : 1;
    error_ = error;
    dropped_ += own;
    if (entries_.empty()) {
      lose(first.lostBefore + own, first.format);
    } else {
      entries_.front().lostBefore += first.lostBefore + own;
    }
  }
  written_.notify_all();
}

/// A pipe that is writable takes PIPE_BUF bytes, unless another process has just filled it.
void OutputWriter::Queue::writeWithoutThread() {
  while (!entries_.empty() && takesMore(fd_, 0)) {
    const std::string text = textOfFirst();
    std::string_view rest = std::string_view{text}.substr(0, PIPE_BUF);
    const std::size_t size = rest.size();
    const int error = writeAll(fd_, rest);
    finishFirst(error, rest.size() < size);
  }
}

int OutputWriter::Queue::flush(std::optional<std::chrono::nanoseconds> atMost) {
  Guard lock{mutex_};
  const std::uint64_t until = posted_;
  const auto isDone = [&] { return done_ >= until; };
  if (!runs_ && !isDone()) {
    const auto time = std::chrono::ceil<std::chrono::milliseconds>(atMost.value_or(patienceAtExit)).count();
    lock.unlock();
    takesMore(fd_, static_cast<int>(time));
    lock.lock();
    writeWithoutThread();
  } else if (atMost) {
    written_.wait_for(lock, *atMost, isDone);
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

Writers& writers() {
  static detail::PerProcess<Writers> perProcess;
  static const int registered = std::atexit([] {
    Writers& here = perProcess.get();  // of a forked child: it has nothing of its parent's
    here.err.flush(OutputWriter::patienceAtExit);
    here.out.flush(OutputWriter::patienceAtExit);
  });
  static_cast<void>(registered);
  return perProcess.get();
}

}  // namespace

OutputWriter& stdoutWriter() { return writers().out; }
OutputWriter& stderrWriter() { return writers().err; }

}  // namespace tenure
