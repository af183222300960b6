// The system calls of a fenced file, one by one, so that tests can fail and cut off each of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::file_fence {

/// Faults of a file that the system itself would open. They are reported like an errno, with numbers above those.
constexpr int notRegular = 10'001;
constexpr int notOurs = 10'002;  ///< of another user
constexpr int manyNames = 10'003;
constexpr int mountedAlone = 10'004;  ///< reached through another mount than its directory
constexpr int behindLink = 10'005;    ///< a component of the directory's path is a symbolic link

/// A failed call returns -errno, or the negative of one of the numbers above. All names are names in an open directory.
/// So whatever becomes of the directory's path meanwhile, one operation stays in one directory.
class Files {
 public:
  virtual ~Files() = default;

  enum class Kind {
    content,     ///< PATH itself, whoever owns it
    newContent,  ///< created with the mode that the umask leaves; fails if the name exists
    beside,      ///< refused if another user owns it, who could have written it
    lock,        ///< the same; created if missing, with no rights for anybody but the owner
    newBeside,   ///< created for the owner alone; fails if the name exists
  };
  /// Never through a symbolic link.
  [[nodiscard]] virtual int openDirectory(const std::string& path) = 0;
  /// Opens a regular file with one name, for reading and writing, never through a symbolic link.
  [[nodiscard]] virtual int open(int directory, const std::string& name, Kind kind) = 0;
  /// 1 if the name is the open file's, 0 if it is another file's or nobody's.
  [[nodiscard]] virtual int isNamed(int directory, const std::string& name, int fd) = 0;
  /// 1 if the path leads to the open directory, 0 if not.
  [[nodiscard]] virtual int leadsTo(const std::string& path, int directory) = 0;
  /// Gives `to` the owner, the mode and the access list of `from`; fails rather than give anybody more rights.
  [[nodiscard]] virtual int copyAccess(int from, int to) = 0;
  virtual void close(int fd) noexcept = 0;
  [[nodiscard]] virtual std::int64_t size(int fd) = 0;
  /// Reads from the beginning, at most `most` bytes, and at most as many as the file has when it is called.
  [[nodiscard]] virtual int read(int fd, std::string& out, std::uint64_t most) = 0;
  /// Returns how many bytes were written; this may be fewer than given.
  [[nodiscard]] virtual std::int64_t write(int fd, std::uint64_t at, std::string_view bytes) = 0;
  [[nodiscard]] virtual int truncate(int fd, std::uint64_t size) = 0;
  [[nodiscard]] virtual int sync(int fd) = 0;
  /// Only for a file that a write has made: it belongs to this user, or to the owner of the file that it replaces.
  [[nodiscard]] virtual int rename(int directory, const std::string& from, const std::string& to) = 0;
  /// The same for a name that no file has yet; -EEXIST if one has. (A file system may be unable to refuse that.)
  [[nodiscard]] virtual int renameToNew(int directory, const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual int remove(int directory, const std::string& name) = 0;
  [[nodiscard]] virtual int syncDirectory(int directory) = 0;
  /// Neither this nor queue() waits: they return -EWOULDBLOCK. Closing the descriptor releases both locks.
  [[nodiscard]] virtual int lock(int fd) = 0;
  /// Takes another lock on the same file: the writer that has it is the next to get the first lock.
  [[nodiscard]] virtual int queue(int fd) = 0;
  virtual void unqueue(int fd) noexcept = 0;
  virtual void pause(std::chrono::nanoseconds duration) noexcept = 0;
};

[[nodiscard]] Files& systemFiles();

}  // namespace tenure::file_fence
