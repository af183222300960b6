#include "probe_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {
namespace {

constexpr std::string_view mark = "tenure probe ";
constexpr int unfollowed = O_NOFOLLOW | O_NONBLOCK;

/// An errno. An empty file is as good as one of a probe that was killed before its first write.
int faultOfContent(int file) noexcept {
  struct stat info {};
  if (fstat(file, &info) != 0) return errno;
  std::array<char, mark.size()> text{};
  const ssize_t was = S_ISREG(info.st_mode) ? pread(file, text.data(), text.size(), 0) : 1;
  if (was < 0) return errno;
  return was == 0 || std::string_view{text.data(), static_cast<std::size_t>(was)} == mark ? 0 : EEXIST;
}

}  // namespace

int writeProbeFile(const std::string& path) noexcept {
  const UniqueFd file{openToWrite(path, O_RDWR | O_CREAT | unfollowed | O_CLOEXEC, 0600)};
  if (!file) return errno;
  if (const int fault = faultOfContent(file.get()); fault != 0) return fault;
  std::array<char, 64> text{};
  std::copy(mark.begin(), mark.end(), text.begin());
  char* const end = text.data() + text.size();
  char* last = std::to_chars(text.data() + mark.size(), end - 1, readClock().boottime.count()).ptr;
  *last++ = '\n';
  const ssize_t length = last - text.data();
  const ssize_t written = pwrite(file.get(), text.data(), static_cast<std::size_t>(length), 0);
  if (written != length) return written < 0 ? errno : ENOSPC;
  return fsync(file.get()) == 0 ? 0 : errno;
}

std::string probeFileFault(int errorNumber) {
  if (errorNumber == EEXIST) return "it is there, and the probe did not write it; name another file";
  if (errorNumber == ELOOP) return "it is a symbolic link; name the file itself";
  return errnoText(errorNumber);
}

std::string faultOfProbeFile(const std::string& path) {
  if (const UniqueFd file{openToWrite(path, O_RDWR | unfollowed | O_CLOEXEC)}; file) {
    const int fault = faultOfContent(file.get());
    return fault == 0 ? std::string{} : probeFileFault(fault);
  }
  if (errno != ENOENT) return probeFileFault(errno);
  const std::string folder = std::filesystem::path{path}.parent_path().string();
  const bool usable = faccessat(AT_FDCWD, folder.empty() ? "." : folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  return usable ? std::string{} : "its directory: " + errnoText(errno);
}

}  // namespace tenure::cli
