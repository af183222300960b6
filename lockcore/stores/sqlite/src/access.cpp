#include "access.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <grp.h>
#include <initializer_list>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "filesystem_checks.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "sidecar/sidecar.hpp"

namespace tenure::sqlite_store {
namespace {

constexpr mode_t permissions = 0666, groupMay = 0060, othersMay = 0006;

std::optional<gid_t> groupNamed(const std::string& name) {
  std::array<char, 16384> buffer{};
  group entry{};
  group* found = nullptr;
  const bool known = getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known ? std::optional{found->gr_gid} : std::nullopt;
}

std::optional<struct stat> look(const std::string& path) noexcept {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 ? std::optional{found} : std::nullopt;
}

bool mayUse(const std::string& path, int access) noexcept {
  if (faccessat(AT_FDCWD, path.c_str(), access, AT_EACCESS) == 0) return true;
  return errno != EACCES && errno != EPERM && errno != EROFS;
}

/// A class of users that may search the directory, and has a right to the file that the mode does not give.
mode_t excess(const struct stat& file, const struct stat& directory, mode_t wanted) noexcept {
  mode_t more = file.st_mode & permissions & ~wanted;
  if ((directory.st_mode & 0010U) == 0) more &= ~groupMay;
  if ((directory.st_mode & 0001U) == 0) more &= ~othersMay;
  return more;
}

/// Of a new database.
StoreResult<FileRights> rightsOfNew(const std::string& store, const SqliteStoreOptions& options) {
  FileRights rights{.mode = options.mode};
  if (options.group.empty()) return rights;
  rights.group = groupNamed(options.group);
  if (rights.group) return rights;
  return StoreError{ErrorClass::misconfigured,
                    store + ": there is no group " + options.group + " on this machine; give another one, or make it"};
}

StoreError groupRefused(const std::string& store, const std::string& group) {
  return {ErrorClass::misconfigured,
          store + ": this user may not give the database to group " + group +
              ", because it is not a member of it; add the user to the group, or give another one"};
}

bool isMember(gid_t group) {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  groups.resize(static_cast<std::size_t>(std::max(getgroups(static_cast<int>(groups.size()), groups.data()), 0)));
  return getegid() == group || std::find(groups.begin(), groups.end(), group) != groups.end();
}

/// Why this user could not make the database. The kernel's own rule for fchown(2), because a look makes no file.
std::optional<StoreError> obstacleOfNew(const std::string& store, const StoreFiles& files,
                                        const SqliteStoreOptions& options) {
  const StoreResult<FileRights> rights = rightsOfNew(store, options);
  if (rights.has_error()) return rights.error();
  if (!rights->group || geteuid() == 0 || isMember(*rights->group)) return std::nullopt;
  const auto directory = look(files.directory);
  const bool inherited = directory && (directory->st_mode & S_ISGID) != 0 && directory->st_gid == *rights->group;
  return inherited ? std::nullopt : std::optional{groupRefused(store, options.group)};
}

}  // namespace

std::string ownerText(const std::string& path) {
  const auto found = look(path);
  if (!found) return "another user";
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* user = nullptr;
  const bool known = getpwuid_r(found->st_uid, &entry, buffer.data(), buffer.size(), &user) == 0 && user != nullptr;
  return "user " + std::to_string(found->st_uid) + (known ? std::string{" ("} + user->pw_name + ')' : "");
}

FileRights rightsBeside(const std::string& database, const SqliteStoreOptions& options) {
  if (const auto found = look(database); found && S_ISREG(found->st_mode)) {
    return {.mode = (found->st_mode & permissions) | 0600U, .group = found->st_gid, .owner = found->st_uid};
  }
  const StoreResult<FileRights> rights = rightsOfNew(database, options);
  return rights.has_error() ? FileRights{.mode = options.mode} : *rights;
}

std::optional<StoreError> makeDatabaseFile(const std::string& store, const StoreFiles& files,
                                           const SqliteStoreOptions& options) {
  const StoreResult<FileRights> rights = rightsOfNew(store, options);
  if (rights.has_error()) return rights.error();
  const int fault = makeFile(files.database, *rights);
  if (fault == 0 || fault == EEXIST) return std::nullopt;
  if (fault == EPERM && rights->group) {
    unlink(files.database.c_str());
    return groupRefused(store, options.group);
  }
  return systemError(store, "making " + files.database, fault);
}

void shareLogWithGroup(const StoreFiles& files) noexcept {
  const auto database = look(files.database);
  if (!database || (database->st_mode & groupMay) == 0) return;
  for (const std::string* path : {&files.wal, &files.shm}) {
    const auto found = look(*path);
    if (!found || found->st_uid != geteuid() || found->st_gid == database->st_gid) continue;
    static_cast<void>(lchown(path->c_str(), static_cast<uid_t>(-1), database->st_gid) == 0);
  }
}

std::string closedFile(const StoreFiles& files) {
  for (const std::string* path : {&files.wal, &files.shm}) {
    if (mayUse(*path, R_OK | W_OK)) continue;
    const std::string why = errnoText(errno);
    return *path + " is there, belongs to " + ownerText(*path) + ", and this user may not write it (" + why +
           "), so it cannot write the database; give that file the owner and the mode of the database, or remove it "
           "while no process has the database open (fuser shows them)";
  }
  const auto sidecar = look(files.sidecar);
  if (!sidecar || !S_ISDIR(sidecar->st_mode) || mayUse(files.sidecar, R_OK | W_OK | X_OK)) return {};
  const std::string why = errnoText(errno);
  return files.sidecar + " belongs to " + ownerText(files.sidecar) + ", and this user may not make files in it (" +
         why +
         "), where candidates show that they are alive; let all candidates run as one user, or give the database and "
         "this directory to a group of theirs (store.group, store.mode 0660)";
}

std::string wideAccess(const StoreFiles& files, const SqliteStoreOptions& options) {
  const auto directory = look(files.directory);
  if (!directory) return {};
  std::string wide, fix;
  mode_t more = 0;
  const auto add = [&](const std::string& path, mode_t wanted, mode_t bits) {
    const auto found = look(path);
    const mode_t excessive = found ? excess(*found, *directory, wanted) & bits : 0;
    if (excessive == 0) return;
    more |= excessive;
    wide += (wide.empty() ? "" : ", ") + path + " (" + modeText(found->st_mode & 07777U) + ')';
    fix += (fix.empty() ? "chmod " : "; chmod ") + modeText(wanted) + ' ' + path;
  };
  for (const std::string* path : {&files.database, &files.wal, &files.shm}) add(*path, options.mode, permissions);
  add(files.sidecar, directoryModeFor(options.mode), permissions);
  if (wide.empty()) return {};
  return std::string{"may be opened by "} + ((more & othersMay) != 0 ? "every user of this machine" : "their group") +
         ": " + wide + ". A lock on a byte of them, for which the right to read is enough, stops all elections: " + fix;
}

FileAccess lookAtAccess(const SqliteStoreOptions& options) {
  FileAccess report;
  const std::string store = "sqlite " + options.path;
  StoreResult<CheckedFiles> checked = checkFiles(store, options.path);
  if (checked.has_error()) {
    report.obstacle = checked.error();
    checked = checkFiles(store, options.path, Access::reads);
    if (checked.has_error()) return report;
  }
  if (!checked->exists && !report.obstacle) {
    if (const auto rights = rightsOfNew(store, options); rights.has_error()) report.obstacle = rights.error();
  }
  const StoreFiles& files = checked->files;
  if (!checked->exists && !report.obstacle) report.obstacle = obstacleOfNew(store, files, options);
  report.wide = wideAccess(files, options);
  const std::string closed = unreadableLivenessFile(files);
  if (closed.empty()) return report;
  report.strangers =
      "the liveness file " + closed + " belongs to " + ownerText(closed) +
      ", and this user may not read it, so it does not know whether that candidate is alive: a crash costs a whole "
      "lease, and a database that was removed is never made again. Let all candidates run as one user, or give the "
      "database to a "
      "group of theirs (store.group, store.mode 0660)";
  if (!checked->exists && !report.obstacle) {
    report.obstacle = StoreError{ErrorClass::misconfigured, store + ": " + report.strangers};
  }
  return report;
}

}  // namespace tenure::sqlite_store
