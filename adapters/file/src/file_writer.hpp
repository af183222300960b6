// The steps of a fenced write to a file. The system calls are done by an object that tests can replace.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/adapters/fenced_file.hpp>

#include "fence_state.hpp"
#include "files.hpp"
#include "writer_lock.hpp"

namespace tenure::file_fence {

class FileWriter {
 public:
  FileWriter(Files& files, const std::string& path, FencedFileOptions options);

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
  using Write = std::function<Fault(const Held&, FenceState&)>;

  [[nodiscard]] FenceResult<void> write(const TermStamp& stamp, const Write& step);
  [[nodiscard]] FenceResult<FenceState> load(int fence);
  [[nodiscard]] FenceResult<FenceState> look();
  [[nodiscard]] FenceResult<std::optional<TermStamp>> seenIn(const FenceState& state, const std::string& lease) const;
  [[nodiscard]] Fault recover(const Held& held, const FenceState& state);
  [[nodiscard]] Fault commit(const Held& held, const FenceState& state);
  [[nodiscard]] Fault prepare(const Held& held, const FenceState& state);
  [[nodiscard]] Fault commitPrepared(const Held& held);
  [[nodiscard]] Fault syncDirectory(const Held& held, bool mayBeWritten);
  /// The owner and the access rights that a new file gets.
  struct Likeness {
    Files::Kind kind{Files::Kind::newBeside};
    int fd{-1};  ///< the file whose owner, mode and access list it gets
  };
  [[nodiscard]] Fault fill(const Held& held, const std::string& name, std::string_view bytes, const char* what,
                           Likeness like);
  [[nodiscard]] Fault fillOpen(int file, std::string_view bytes, const std::string& named, Likeness like);
  [[nodiscard]] Fault fillContent(const Held& held, const std::string& content, std::string_view bytes);
  [[nodiscard]] Fault makeState(const Held& held);

  Files& files_;
  const FileNames names_;
  WriterLock lock_;
};

}  // namespace tenure::file_fence
