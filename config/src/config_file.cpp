#include "config_file.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "lockcore/runtime/regular_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::config {
namespace {

ValueFault cannotOpen(int error, const std::string& cure) {
  if (error == ENOENT) return {"there is no such file; " + cure};
  if (error == EACCES) return {"this process may not read the file (" + errnoText(error) + ")"};
  return {"the file cannot be opened: " + errnoText(error)};
}

}  // namespace

boost::system::result<std::string, ValueFault> readSmallFile(const std::filesystem::path& file, const std::string& cure,
                                                             std::size_t most) {
  if (std::string fault = faultOfPath(file.native()); !fault.empty()) return ValueFault{std::move(fault)};
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const UniqueFd fd{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (fd.get() < 0) return cannotOpen(errno, cure);
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0) return ValueFault{"the file cannot be examined: " + errnoText(errno)};
  if (S_ISDIR(about.st_mode)) return ValueFault{"this is a directory; give the YAML file in it"};
  if (!S_ISREG(about.st_mode)) return ValueFault{"this is not a regular file (a pipe or a device); give a YAML file"};
  std::string text;
  std::array<char, 16384> chunk{};
  for (;;) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n == 0) return {boost::system::in_place_value, std::move(text)};
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ValueFault{"the file cannot be read: " + errnoText(errno)};
    text.append(chunk.data(), static_cast<std::size_t>(n));
    if (text.size() > most) {
      return ValueFault{
          "the file is larger than " + std::to_string(most >> 20U) + " MiB; check that it is the right one", true};
    }
  }
}

}  // namespace tenure::config
