// The steps of a fenced write to a file. The system calls are done by an object that tests can replace.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/adapters/fenced_file.hpp>
#include <tenure/lockcore/clock.hpp>

#include "fence_state.hpp"
#include "files.hpp"

namespace tenure::file_fence {

/// An open file; it is closed with the object.
class OpenFile {
 public:
  OpenFile(Files& files, int fd) noexcept : files_{files}, fd_{fd} {}
  ~OpenFile() {
    if (fd_ >= 0) files_.close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  Files& files_;
  int fd_;
};

class FileWriter {
 public:
  FileWriter(Files& files, std::string path, FencedFileOptions options);

  [[nodiscard]] std::optional<FenceError> open();
  [[nodiscard]] FenceResult<void> append(const TermStamp& stamp, std::string_view bytes);
  [[nodiscard]] FenceResult<void> replace(const TermStamp& stamp, std::string_view bytes);
  [[nodiscard]] FenceResult<std::string> read();
  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease);

  /// For an operator: the token as it is stored, empty if there is none; and below, setting another one.
  [[nodiscard]] FenceResult<std::string> stored(const std::string& lease);
  [[nodiscard]] FenceResult<void> setMemory(const TermStamp& memory);

  /// Called inside a write, after the check and before the first byte; for tests.
  std::function<void()> inside{};

 private:
  using Fault = std::optional<FenceError>;
  using Write = std::function<Fault(FenceState&)>;

  [[nodiscard]] FenceResult<void> write(const TermStamp& stamp, const Write& step);
  [[nodiscard]] Fault waitFor(const Instant& start, const std::function<int()>& lock);
  [[nodiscard]] Fault locked(const std::function<Fault()>& step);
  [[nodiscard]] FenceResult<FenceState> load();
  [[nodiscard]] FenceResult<std::optional<TermStamp>> seenIn(const FenceState& state, const std::string& lease) const;
  [[nodiscard]] Fault recover(const FenceState& state);
  [[nodiscard]] Fault commit(const FenceState& state);
  [[nodiscard]] Fault prepare(const FenceState& state);
  [[nodiscard]] Fault commitPrepared();
  /// The owner and the access rights that a new file gets.
  struct Likeness {
    Files::Kind kind{Files::Kind::newBeside};
    int fd{-1};  ///< the file whose owner, mode and access list it gets
  };
  [[nodiscard]] Fault fill(const std::string& path, std::string_view bytes, const char* what, Likeness like);
  [[nodiscard]] Fault fillOpen(int file, std::string_view bytes, const std::string& named, Likeness like);
  [[nodiscard]] Fault fillContent(const std::string& content, std::string_view bytes);
  [[nodiscard]] Fault makeState();

  [[nodiscard]] std::string contentName(std::uint64_t sequence) const;
  [[nodiscard]] FenceError trouble(const std::string& what, int code, bool mayBeWritten = false) const;
  [[nodiscard]] FenceError corrupt(const std::string& text) const;

  Files& files_;
  const std::string path_, fence_, next_, lock_, directory_;
  const FencedFileOptions options_;
};

}  // namespace tenure::file_fence
