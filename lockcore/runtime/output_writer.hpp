// Internal: text for stdout and stderr, which may have a reader that does not read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

/// Writes to a descriptor on a thread of its own, because a full pipe, a stopped terminal or a file system that does
/// not answer blocks whoever writes to it. A caller may renew a lease, or have to give one up. O_NONBLOCK is no way
/// out: it belongs to the open file, so the shell and the job that share it would get EAGAIN.
class TENURE_API OutputWriter {
 public:
  explicit OutputWriter(int fd);
  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;
  /// Waits for nothing. What has not been written yet may still be.
  ~OutputWriter() = default;

  /// Whole lines; each write(2) has one or several whole texts. Never waits: while more than `mostBytes` wait, or after
  /// a write has failed, the text is dropped and counted. As soon as output works again, a line in `format` tells the
  /// count.
  void post(std::string text, LogFormat format = LogFormat::text);

  /// Waits until all that was posted before is written or has failed; without a bound, for as long as that takes. 0,
  /// the errno of the last write that has failed since the last call, or ETIMEDOUT.
  int flush(std::optional<std::chrono::nanoseconds> atMost);

  /// How many texts were dropped. Any thread.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

  /// Some thousand lines: more than a terminal that was stopped for a moment, or a reader that is slow, needs.
  static constexpr std::size_t mostBytes = 256U << 10U;

  /// A reader that is slow gets its lines; a process that is asked to end is not held up by one that does not read.
  static constexpr std::chrono::seconds patienceAtExit{1};

 private:
  class Queue;
  std::shared_ptr<Queue> queue_;
};

/// The writers of this process, for all threads. The end of the process (exit, but not _Exit or exec) waits for
/// `patienceAtExit` at most for what both still have.
[[nodiscard]] TENURE_API OutputWriter& stdoutWriter();
[[nodiscard]] TENURE_API OutputWriter& stderrWriter();

}  // namespace tenure
