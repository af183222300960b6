// Remembers the highest token of each lease for a fence: a thread that writes the file.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/fence.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "token_file.hpp"

namespace tenure::http_fence {

/// The thread ("tenure-fence") writes one transaction after another. Marks that come while one is under way go into
/// the next one, and of each lease only the highest. The thread also keeps the time that a fence waits after a crash.
class TokenMemory {
 public:
  /// Called on the thread for each lease of a transaction. Without `error` its marks are on the disk. With one, nothing
  /// of the transaction is, and all of its leases get the same error.
  using OnWritten = std::function<void(const TermMarks& marks, const std::optional<FenceError>& error)>;

  /// Opens or creates the file, and reads it.
  [[nodiscard]] static StoreResult<std::unique_ptr<TokenMemory>> open(const std::string& path);
  TokenMemory(std::unique_ptr<TokenFile> file, TokenFile::Content found);
  ~TokenMemory();
  TokenMemory(const TokenMemory&) = delete;
  TokenMemory& operator=(const TokenMemory&) = delete;

  /// What the file held when it was opened.
  [[nodiscard]] const TokenFile::Content& found() const noexcept { return found_; }
  /// As TokenFile::replacedError().
  [[nodiscard]] std::optional<StoreError> replacedError() const { return file_->replacedError(); }

  /// Starts the thread. `onWaitOver` is called on it once, when at least the time `wait` has really passed.
  void start(OnWritten onWritten, std::chrono::milliseconds wait, std::function<void()> onWaitOver);
  /// Has the marks written soon; onWritten tells the end of it.
  void remember(const TermMarks& marks);
  /// Ends the thread after everything given to remember() is written. `clean`: no request is under way any more.
  void close(bool clean);

 private:
  void run();
  void write(const TokenFile::Marks& marks);

  const std::unique_ptr<TokenFile> file_;
  const TokenFile::Content found_;

  OnWritten onWritten_{};
  std::function<void()> onWaitOver_{};
  Instant waitsFrom_{};
  std::chrono::milliseconds wait_{0};

  std::mutex mutex_{};
  std::condition_variable changed_{};
  TokenFile::Marks pending_{};
  bool closing_{false};
  std::thread thread_{};
};

}  // namespace tenure::http_fence
