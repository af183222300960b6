// The system calls of a fenced file, one by one, so that tests can fail and cut off each of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::file_fence {

/// A failed call returns -errno.
class Files {
 public:
  virtual ~Files() = default;

  enum class Make {
    no,
    shared,  ///< if it is missing, with what the umask leaves
    own,     ///< the same for the owner alone; one of his own that others may open is taken from them
  };
  /// A regular file for reading and writing, never through a symbolic link. With `empty` its content goes.
  [[nodiscard]] virtual int open(const std::string& path, Make make, bool empty) = 0;
  /// Gives the one the mode and the owner of the other.
  [[nodiscard]] virtual int copyAccess(int from, int to) = 0;
  virtual void close(int fd) noexcept = 0;
  [[nodiscard]] virtual std::int64_t size(int fd) = 0;
  /// The bytes from the beginning, at most `most`.
  [[nodiscard]] virtual int read(int fd, std::string& out, std::uint64_t most) = 0;
  /// How many bytes were written; may be fewer than given.
  [[nodiscard]] virtual std::int64_t write(int fd, std::uint64_t at, std::string_view bytes) = 0;
  [[nodiscard]] virtual int truncate(int fd, std::uint64_t size) = 0;
  [[nodiscard]] virtual int sync(int fd) = 0;
  [[nodiscard]] virtual int rename(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual int remove(const std::string& path) = 0;
  [[nodiscard]] virtual int syncDirectory(const std::string& path) = 0;
  /// Neither waits: -EWOULDBLOCK. Closing the descriptor gives both back.
  [[nodiscard]] virtual int lock(int fd) = 0;
  /// Another lock on the same file: whoever has it is the next to get the first.
  [[nodiscard]] virtual int queue(int fd) = 0;
  virtual void unqueue(int fd) noexcept = 0;
  virtual void pause(std::chrono::nanoseconds duration) noexcept = 0;
};

[[nodiscard]] Files& systemFiles();

}  // namespace tenure::file_fence
