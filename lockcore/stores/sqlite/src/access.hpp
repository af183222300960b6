// Who may open the store's files. Whoever may open one, even only to read, may lock bytes of it, and so keep all
// candidates from renewing.
#pragma once

#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/store_error.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "file_identity.hpp"
#include "lockcore/port/file_access.hpp"
#include "lockcore/runtime/file_rights.hpp"

namespace tenure::sqlite_store {

/// Of new files beside the database: those of the database, as SQLite gives them to its log. So what root makes (sudo
/// tenure pause) locks no candidate out. Without a database those of a new one.
[[nodiscard]] FileRights rightsBeside(const std::string& database, const SqliteStoreOptions& options);

/// Creates the file before SQLite does, because SQLite leaves the mode to the umask.
[[nodiscard]] std::optional<StoreError> makeDatabaseFile(const std::string& store, const StoreFiles& files,
                                                         const SqliteStoreOptions& options);

/// SQLite gives its log the mode of the database, but the group of the process. Changes only files of this user.
void shareLogWithGroup(const StoreFiles& files) noexcept;

/// Why this user cannot write the log that is there, or make files in the sidecar directory; empty: it can.
[[nodiscard]] std::string closedFile(const StoreFiles& files);

/// "user 1002 (bob)": the owner of the file.
[[nodiscard]] std::string ownerText(const std::string& path);

/// Makes and changes no file.
[[nodiscard]] TENURE_API FileAccess lookAtAccess(const SqliteStoreOptions& options);

/// FileAccess::wide.
[[nodiscard]] std::string wideAccess(const StoreFiles& files, const SqliteStoreOptions& options);

}  // namespace tenure::sqlite_store
