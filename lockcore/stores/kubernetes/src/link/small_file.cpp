#include "small_file.hpp"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::kubernetes_store {
namespace {

constexpr std::size_t longestSmallFile = std::size_t{64} << 10U;
constexpr const char* whiteSpace = " \t\r\n";

}  // namespace

StoreResult<std::string> smallFile(const std::string& what, const std::string& path) {
  const auto refused = [&](const std::string& why) {
    return StoreError{ErrorClass::credentials, "the " + what + " " + path + " " + why};
  };
  const auto unreadable = [&] { return refused("cannot be read: " + std::generic_category().message(errno)); };
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return unreadable();
  if (!S_ISREG(about.st_mode)) return refused("is not a regular file");
  std::string text(longestSmallFile + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), &text[size], text.size() - size);
    if (got < 0 && errno != EINTR) return unreadable();
    if (got == 0) break;
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  if (text.size() > longestSmallFile) return refused("is longer than 64 KiB");
  text.erase(0, text.find_first_not_of(whiteSpace));
  text.erase(text.find_last_not_of(whiteSpace) + 1);
  return text;
}

}  // namespace tenure::kubernetes_store
