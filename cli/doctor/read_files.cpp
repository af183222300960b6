#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include <boost/version.hpp>

#include <tenure/lockcore/version.hpp>

#include "lockcore/runtime/system_error.hpp"
#include "machine.hpp"

namespace tenure::cli::doctor {
namespace {

/// `access`: as faccessat(2) has it, for the effective user.
FileFacts lookAt(std::string what, std::string path, int access) {
  FileFacts facts{.what = std::move(what), .path = std::move(path)};
  struct stat found {};
  if (stat(facts.path.c_str(), &found) != 0) {
    facts.error = errnoText(errno);
    return facts;
  }
  facts.mode = found.st_mode & 07777U;
  struct statvfs mount {};
  // As a ConfigMap in a pod is, whatever its mode says.
  if (statvfs(facts.path.c_str(), &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0) facts.mode &= ~0222U;
  facts.accessible = faccessat(AT_FDCWD, facts.path.c_str(), access, AT_EACCESS) == 0;
  return facts;
}

std::optional<FileSystemFacts> systemOf(const std::string& directory) {
  struct statfs type {};
  struct statvfs space {};
  if (statfs(directory.c_str(), &type) != 0 || statvfs(directory.c_str(), &space) != 0) return std::nullopt;
  FileSystemFacts facts;
  facts.type = static_cast<std::uint32_t>(type.f_type);
  facts.readOnly = (space.f_flag & ST_RDONLY) != 0;
  facts.freeBytes = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  if (space.f_files > 0) facts.freeInodes = space.f_favail;
  return facts;
}

}  // namespace

StoreFiles filesOf(const StoreConfig& store) {
  const config::StoreType& type = config::typeOf(store);
  StoreFiles files{.hasServer = static_cast<bool>(type.server)};
  if (type.directory) files.directory = type.directory(store);
  for (const auto& secret : type.secrets) {
    if (NamedPath file = secret(store); !file.path.empty()) files.secrets.push_back(std::move(file));
  }
  return files;
}

FilesFacts readFiles(const std::string& config, const StoreFiles& store) {
  FilesFacts facts;
  const std::filesystem::path directory = std::filesystem::path{config}.parent_path();
  facts.config = lookAt("the configuration file", config, R_OK);
  facts.configDirectory = lookAt("its directory", directory.empty() ? "." : directory.string(), R_OK);
  for (const NamedPath& secret : store.secrets) facts.secrets.push_back(lookAt(secret.what, secret.path, R_OK));
  NamedPath kept = store.directory;
  if (kept.path.empty()) return facts;
  // A store that keeps its leases at a server makes the directory if its parent is there.
  if (store.hasServer && access(kept.path.c_str(), F_OK) != 0 && errno == ENOENT) {
    const std::filesystem::path whole = std::filesystem::absolute(kept.path + "/").lexically_normal();
    kept = {"the parent of " + kept.what, whole.parent_path().parent_path().string()};
  }
  PlaceFacts place{.directory = lookAt(kept.what, kept.path, W_OK | X_OK), .keepsLeases = !store.hasServer};
  if (place.directory.error.empty()) place.system = systemOf(kept.path);
  facts.place = std::move(place);
  return facts;
}

std::vector<Version> versionsHere() {
  std::vector<Version> all{{"tenure", std::string{tenure::version}}};
  for (const config::StoreType& type : config::storeTypes()) {
    const bool isNew = std::find(all.begin(), all.end(), type.library) == all.end();
    if (!type.library.name.empty() && isNew) all.push_back(type.library);
  }
  std::string boost = BOOST_LIB_VERSION;  // 1_81
  std::replace(boost.begin(), boost.end(), '_', '.');
  all.push_back({"Boost", boost});
  return all;
}

}  // namespace tenure::cli::doctor
