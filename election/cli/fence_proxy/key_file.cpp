#include "key_file.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>

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
  std::ifstream stream{file, std::ios::binary};
  if (!stream || stat(file.c_str(), &status) != 0) {
    return KeyFileFault{file + ": " + std::error_code{errno, std::generic_category()}.message()};
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return KeyFileFault{file +
                        ": others than its owner may put keys of theirs in; chmod go-w it, and look what it holds"};
  }
  if ((status.st_mode & S_IROTH) != 0) {
    return KeyFileFault{file + ": everybody may read these keys; chmod o-r it, and make new keys"};
  }
  const std::string text{std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
  return parseKeys(file, text);
}

}  // namespace tenure::cli::fence_proxy
