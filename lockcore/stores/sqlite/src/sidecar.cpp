#include "sidecar.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace tenure::sqlite_store {
namespace {

constexpr std::string_view hexDigits = "0123456789abcdef";

void mix(std::uint64_t& hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
}

}  // namespace

std::string fileNameOf(const LeaseKey& key) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  mix(hash, key.name);
  mix(hash, std::string_view{"\0", 1});  // names hold no NUL, so ("ab","c") and ("a","bc") differ
  mix(hash, key.sortKey);
  std::string out(16, '0');
  for (std::size_t i = out.size(); i-- > 0; hash >>= 4U) out[i] = hexDigits[hash & 0xFU];
  return out;
}

std::string wakeFilePath(const std::string& sidecar, const LeaseKey& key) {
  return sidecar + "/wake-" + fileNameOf(key);
}

void touchWakeFile(const std::string& sidecar, const LeaseKey& key) noexcept {
  const std::string path = wakeFilePath(sidecar, key);
  // Watchers are notified when a file that was open for writing is closed. Setting a new file time would also work, but
  // then the file system would have to write one more inode with each commit.
  if (UniqueFd{open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)} || errno != ENOENT) return;
  // Nobody watches a file that does not exist; it is created for later watchers.
  if (mkdir(sidecar.c_str(), 0777) == 0 || errno == EEXIST) static_cast<void>(openWakeFile(path));
}

UniqueFd openWakeFile(const std::string& path) noexcept {
  return UniqueFd{open(path.c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666)};
}

}  // namespace tenure::sqlite_store
