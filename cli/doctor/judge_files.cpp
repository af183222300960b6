#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "judge.hpp"
#include "lockcore/runtime/file_rights.hpp"

namespace tenure::cli::doctor {
namespace {

constexpr unsigned othersWrite = 0002, groupWrites = 0020, sticky = 01000, othersRead = 0004, groupReads = 0040;
constexpr std::uint64_t mebibyte = 1U << 20U;

bool has(const FileFacts& file, unsigned bit) noexcept { return (file.mode & bit) != 0; }
bool othersMayReplace(const FileFacts& directory) noexcept {
  return has(directory, othersWrite) && !has(directory, sticky);
}

void judgeConfig(const FileFacts& file, const FileFacts& directory, Report& report) {
  if (has(file, othersWrite)) {
    return report.fault("files.config", file.path + " may be written by every user of this machine.",
                        "chmod o-w " + file.path);
  }
  if (othersMayReplace(directory)) {
    return report.warning("files.config", directory.path + ", where the configuration file is, is open to every user.",
                          "chmod o-w " + directory.path);
  }
  if (has(file, groupWrites)) {
    return report.warning("files.config", file.path + " may be written by its group.",
                          "If not all of the group may choose the store and the candidates: chmod g-w " + file.path);
  }
  report.ok("files.config", file.path + " may be written by its owner alone.");
}

/// The worst of the files decides; each that is not right is named.
void judgeSecrets(const std::vector<FileFacts>& secrets, Report& report) {
  Grade worst = Grade::ok;
  std::string says, toDo;
  const auto add = [&](Grade grade, const std::string& sentence, const std::string& remedy) {
    worst = std::max(worst, grade);
    says += (says.empty() ? "" : " ") + sentence;
    toDo += (toDo.empty() ? "" : "; ") + remedy;
  };
  for (const FileFacts& file : secrets) {
    const std::string name = fmt::format("{} ({})", file.path, file.what);
    if (!file.error.empty()) {
      add(Grade::fault, fmt::format("{} cannot be examined: {}.", name, file.error), "give the right path");
    } else if (!file.accessible) {
      add(Grade::fault, name + " may not be read by this user.", "chown it to the user that runs the candidate");
    } else if (has(file, othersRead)) {
      add(Grade::fault, name + " may be read by every user of this machine.", "chmod 600 " + file.path);
    } else if (has(file, groupReads)) {
      add(Grade::warning, name + " may be read by its group.", "chmod 600 " + file.path);
    }
  }
  if (worst == Grade::fault) return report.fault("files.secrets", says, toDo);
  if (worst == Grade::warning) return report.warning("files.secrets", says, toDo);
  report.ok("files.secrets", fmt::format("{} with secrets may be read by the owner alone.",
                                         secrets.size() == 1 ? secrets.front().path : "The files"));
}

void judgeDirectory(const FileFacts& directory, Report& report) {
  const std::string name = fmt::format("{} ({})", directory.path, directory.what);
  if (!directory.error.empty()) {
    return report.fault("files.directory", fmt::format("{} cannot be examined: {}.", name, directory.error),
                        "Create it, for the user that runs the candidates.");
  }
  if (!directory.accessible) {
    return report.fault("files.directory", name + " may not be written by this user.",
                        "Make it writable for the user that runs the candidates, and run the doctor as that user.");
  }
  if (othersMayReplace(directory)) {
    return report.fault("files.directory", name + " is open to every user, who may remove its files under a leader.",
                        "chmod o-w " + directory.path);
  }
  if (has(directory, othersWrite)) {
    return report.warning("files.directory",
                          name + " is open to every user; they may make files there before this store does.",
                          "Use a directory of the candidates' own, such as one below /var/lib.");
  }
  report.ok("files.directory", name + " may be written by this user, and not by all users.");
}

const char* localName(std::uint32_t type) noexcept {
  switch (type) {
    case 0xEF53:
      return "on ext4";
    case 0x58465342:
      return "on XFS";
    case 0x9123683E:
      return "on Btrfs";
    case 0x2FC12FC1:
      return "on ZFS";
    default:
      return "on a local file system";
  }
}

void judgeSystem(const std::string& path, bool keepsLeases, const FileSystemFacts& system, Report& report) {
  constexpr std::uint32_t tmpfs = 0x01021994, ramfs = 0x858458F6, overlay = 0x794C7630;
  if (const auto network = tenure::detail::networkFileSystem(system.type)) {
    return report.fault("files.system", fmt::format("{} is on {}, where locks cannot be relied on.", path, *network),
                        "Use a local disk, or a store for many machines.");
  }
  if (system.readOnly) {
    return report.fault("files.system", path + " is mounted read-only.",
                        "Mount it writable; after an error of the disk, look at the kernel's log first.");
  }
  if (system.type == overlay) {
    return report.warning("files.system",
                          path +
                              " is in a container's own layer (overlay): other containers do not see it, and it goes "
                              "with the container. " +
                              (keepsLeases ? "Each container would elect its own leader."
                                           : "Their candidates notice a crash here only after its lease."),
                          "Mount a volume there that all candidates of this machine share.");
  }
  const bool isInMemory = system.type == tmpfs || system.type == ramfs;
  if (isInMemory && keepsLeases) {
    return report.warning("files.system",
                          path +
                              " is in memory (tmpfs): after a restart of the machine the fencing tokens start again, "
                              "and resources that remember higher ones refuse every leader.",
                          "Use a directory on a disk.");
  }
  report.ok("files.system", fmt::format("{} is {}.", path, isInMemory ? "in memory" : localName(system.type)));
}

void judgeSpace(const std::string& path, bool keepsLeases, const FileSystemFacts& system, Report& report) {
  constexpr std::uint64_t fewBytes = 64 * mebibyte, noBytes = 4 * mebibyte, fewInodes = 1'000;
  const bool inodesGone = system.freeInodes == 0U;
  const std::string says =
      fmt::format("{} has {} MiB free{}", path, system.freeBytes / mebibyte,
                  system.freeInodes ? fmt::format(" and {} inodes", *system.freeInodes) : std::string{});
  const std::string toDo = keepsLeases ? "Free some space: a renewal that cannot be written ends leadership."
                                       : "Free some space: without its files a crash is noticed only after the lease.";
  if (system.freeBytes < noBytes || inodesGone) return report.fault("files.space", says + ".", toDo);
  if (system.freeBytes < fewBytes || system.freeInodes.value_or(fewInodes) < fewInodes) {
    return report.warning("files.space", says + ".", toDo);
  }
  report.ok("files.space", says + ".");
}

void judgeAccess(const FileAccess& access, Report& report) {
  if (access.obstacle) {
    return report.fault("files.access", access.obstacle->message + ".",
                        "Run the doctor as the user that runs the candidates; if it is that user, give it the rights.");
  }
  if (!access.strangers.empty()) {
    return report.warning("files.access", "Candidates cannot check on each other: " + access.strangers + ".",
                          "docs/sqlite.md, Permissions.");
  }
  if (!access.wide.empty()) {
    return report.warning("files.access", "The files of the database " + access.wide + ".",
                          "Restrict them as the message says, while no candidate runs.");
  }
  report.ok("files.access", "This user may write the files of the database, and no other user may open them.");
}

}  // namespace

void judgeFiles(const FilesFacts& files, Report& report) {
  judgeConfig(files.config, files.configDirectory, report);
  if (!files.secrets.empty()) judgeSecrets(files.secrets, report);
  if (!files.place) return;
  const FileFacts& directory = files.place->directory;
  judgeDirectory(directory, report);
  if (files.access) judgeAccess(*files.access, report);
  if (const auto& system = files.place->system) {
    judgeSystem(directory.path, files.place->keepsLeases, *system, report);
    judgeSpace(directory.path, files.place->keepsLeases, *system, report);
    return;
  }
  for (const char* name : {"files.system", "files.space"}) report.notLookedAt(name, "see files.directory");
}

}  // namespace tenure::cli::doctor
