#include "key_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli::fence_proxy {

void throw_exception_from_error(const KeyFileFault& fault, const boost::source_location& /*where*/) {
  throw std::runtime_error(fault.message);
}

Keys parseKeys(const std::string& file, std::string_view text) {
  std::vector<FenceKey> keys;
  std::istringstream lines{std::string{text}};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    auto key = parseFenceKey(line);
    if (!key) return KeyFileFault{file + ':' + std::to_string(number) + ": a line is ID SECRET, the secret in base64"};
    keys.push_back(*std::move(key));
  }
  if (keys.empty()) return KeyFileFault{file + ": there is no key in it"};
  if (const auto faults = faultsOf(keys); !faults.empty()) return KeyFileFault{file + ": " + faults.front()};
  return keys;
}

Keys readKeys(const std::string& file) {
  struct stat status {};
  const UniqueFd opened{open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};  // a FIFO would wait for a writer
  if (!opened || fstat(opened.get(), &status) != 0) {
    return KeyFileFault{file + ": " + std::error_code{errno, std::generic_category()}.message()};
  }
  if (!S_ISREG(status.st_mode)) return KeyFileFault{file + ": is no regular file; give the file with the keys"};
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return KeyFileFault{file +
                        ": belongs to another user, who may put keys in; chown it to the proxy's user or to root"};
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return KeyFileFault{file +
                        ": others than its owner may put keys of theirs in; chmod go-w it, and look what it holds"};
  }
  if ((status.st_mode & S_IROTH) != 0) {
    return KeyFileFault{file + ": everybody may read these keys; chmod o-r it, and make new keys"};
  }
  constexpr off_t largest = 1 << 20;
  if (status.st_size > largest)
    return KeyFileFault{file + ": is larger than 1 MiB, so it holds something else than keys"};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t got = read(opened.get(), text.data(), text.size());
  if (got < 0) return KeyFileFault{file + ": " + std::error_code{errno, std::generic_category()}.message()};
  text.resize(static_cast<std::size_t>(got));
  return parseKeys(file, text);
}

}  // namespace tenure::cli::fence_proxy
