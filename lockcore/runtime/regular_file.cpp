#include "regular_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "lockcore/port/quoted_text.hpp"
#include "system_error.hpp"
#include "unique_fd.hpp"

namespace tenure {
namespace {

FileError unreadable() { return {"cannot be read: " + errnoText(errno), true}; }

boost::system::result<UniqueFd, FileError> openRegular(const std::string& path, int directory) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  UniqueFd file{::openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return unreadable();
  if (!S_ISREG(about.st_mode)) return FileError{"is not a regular file"};
  return file;
}

}  // namespace

void throw_exception_from_error(const FileError& error, const boost::source_location& /*where*/) {
  throw std::runtime_error{error.why};
}

std::string faultOfPath(std::string_view path) {
  if (!isPlainText(path)) return "is not UTF-8 text without NUL";
  // It is not expanded: HOME is another one for another user, and a path of a store would be another store.
  if (!path.starts_with('~')) return {};
  return inQuotes(path) +
         " starts with ~, which only a shell replaces; give the whole path (a group's file may have ${HOME})";
}

boost::system::result<std::string, FileError> regularFile(const std::string& path, std::size_t most, int directory) {
  const auto file = openRegular(path, directory);
  if (!file) return file.error();
  std::string text;
  std::array<char, 16384> room{};
  while (text.size() <= most) {
    const ssize_t got = ::read(file->get(), room.data(), std::min(room.size(), most + 1 - text.size()));
    if (got < 0 && errno != EINTR) return unreadable();
    if (got == 0) return {boost::system::in_place_value, std::move(text)};
    if (got > 0) text.append(room.data(), static_cast<std::size_t>(got));
  }
  return FileError{"is longer than " + std::to_string(most >> 10U) + " KiB"};
}

StoreResult<std::string> passwordIn(const std::string& path) {
  constexpr std::size_t longest = std::size_t{64} << 10U;
  const auto refused = [&](const std::string& why, bool permanent = true) {
    return StoreError{ErrorClass::credentials, "the password file " + path + " " + why, permanent};
  };
  const auto text = regularFile(path, longest);
  if (!text) return refused(text.error().why, !text.error().bySystem);
  std::string line = text->substr(0, text->find('\n'));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty()) return refused("has no password in its first line");
  return line;
}

FileStamp stampOf(const std::string& path) noexcept {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return {};
  const auto whole = [](auto number) { return static_cast<std::uint64_t>(number); };
  return {{whole(about.st_dev), whole(about.st_ino), whole(about.st_size), whole(about.st_mtim.tv_sec),
           whole(about.st_mtim.tv_nsec), whole(about.st_ctim.tv_sec), whole(about.st_ctim.tv_nsec)}};
}

}  // namespace tenure
