// The system calls of a fenced file, one by one, so that tests can fail and cut off each of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::file_fence {

/// What is wrong with a file that the system would open; told like an errno, above all of those.
constexpr int notRegular = 10'001;
constexpr int notOurs = 10'002;  ///< of another user
constexpr int manyNames = 10'003;

/// A failed call returns -errno, or the negative of one of the above.
class Files {
 public:
  virtual ~Files() = default;

  enum class Kind {
    content,     ///< PATH itself, whosever it is
    newContent,  ///< made with what the umask leaves; fails if anything has the name
    beside,      ///< refused where it is another user's: he could have written it
    lock,        ///< the same; made where it is missing, and taken from all but the owner
    newBeside,   ///< made for the owner alone; fails if anything has the name
  };
  /// A regular file with one name, for reading and writing, never through a symbolic link.
  [[nodiscard]] virtual int open(const std::string& path, Kind kind) = 0;
  /// Gives the one the owner, the mode and the access list of the other; fails rather than give anybody more.
  [[nodiscard]] virtual int copyAccess(int from, int to) = 0;
  virtual void close(int fd) noexcept = 0;
  [[nodiscard]] virtual std::int64_t size(int fd) = 0;
  /// The bytes from the beginning, at most `most`, and as many as the file has when it is called.
  [[nodiscard]] virtual int read(int fd, std::string& out, std::uint64_t most) = 0;
  /// How many bytes were written; may be fewer than given.
  [[nodiscard]] virtual std::int64_t write(int fd, std::uint64_t at, std::string_view bytes) = 0;
  [[nodiscard]] virtual int truncate(int fd, std::uint64_t size) = 0;
  [[nodiscard]] virtual int sync(int fd) = 0;
  /// Only of what a write has made: a file of this user, or of the owner of the one that it replaces.
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
