#include "term_files.hpp"

#include <chrono>
#include <filesystem>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <system_error>
#include <utility>

#include "lockcore/liveness/local_death_notice.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/file_rights.hpp"

namespace tenure::postgresql_store {
namespace {

/// The working directory may change later (daemons change it); the path is meant relative to the present one.
std::string absolute(const std::string& path) {
  std::error_code fault;
  const std::filesystem::path whole = detail::workingDirectory(fault) / path;
  return fault ? path : whole.string();
}

/// The directory may be missing; then its parent is looked at, where it will be made.
StoreResult<std::string> localDirectory(const std::string& store, const std::string& directory) {
  struct statfs system {};
  const std::string parent = std::filesystem::path{directory}.parent_path().string();
  if (statfs(directory.c_str(), &system) != 0 && statfs(parent.c_str(), &system) != 0) return directory;
  if (const auto name = detail::networkFileSystem(static_cast<std::uint32_t>(system.f_type))) {
    return StoreError{ErrorClass::misconfigured,
                      store + ": the directory for liveness files, " + directory + ", is on " + std::string{*name} +
                          ", where a lock proves nothing about a process; give one on a local disk",
                      true};
  }
  return directory;
}

/// Removes what processes left that died long ago. A candidate that misses such a file as proof waits for the lease, so
/// the age may decide alone. It is counted between the times of two files, so no clock is read.
void removeOldFiles(const std::string& directory, const std::string& ownId) {
  constexpr auto old = std::chrono::hours{1};
  struct stat own {};
  if (stat(liveness::livenessFilePath(directory, ownId).c_str(), &own) != 0) return;
  liveness::removeDeadLivenessFiles(directory, [&](const std::string& id) {
    struct stat other {};
    const bool found = stat(liveness::livenessFilePath(directory, id).c_str(), &other) == 0;
    return !found || std::chrono::seconds{own.st_mtime - other.st_mtime} < old;
  });
}

}  // namespace

TermFiles::TermFiles(const std::string& store, const std::string& directory, Logger logger)
    : watches_{std::move(logger)},
      deaths_{{store, [store, path = absolute(directory)] { return localDirectory(store, path); }}, watches_} {}

TermFiles::~TermFiles() { watches_.stop(); }

StoreResult<WriteHandler> TermFiles::during(const std::shared_ptr<TermFiles>& files, const WriteRequest& request,
                                            WriteHandler handler) {
  const bool releases = request.purpose == WriteRequest::Purpose::release;
  if (!releases && !request.record.livenessFile) return handler;
  const liveness::TermName term{request.key, request.record.holder};
  bool opened = false;
  if (!releases) {
    const StoreResult<bool> isNew = files->deaths_.own().openTerm(term, request.record.leaseDuration);
    if (isNew.has_error()) return isNew.error();
    opened = *isNew;
    if (opened && !files->swept_.exchange(true)) {
      const StoreResult<std::string> directory = files->deaths_.place().directory();
      if (directory.has_value()) removeOldFiles(*directory, files->deaths_.own().id());
    }
  }
  return WriteHandler{[files, term, opened, request, handler = std::move(handler)](WriteOutcome outcome) {
    if (liveness::endsTerm(request, opened, outcome)) files->deaths_.own().endTerm(term);
    handler(std::move(outcome));
  }};
}

}  // namespace tenure::postgresql_store
