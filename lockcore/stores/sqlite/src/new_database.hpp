// Whether a database may be created where there is none: the steps N1 to N5 of NewDatabaseRule, done on the files.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/store_error.hpp>

#include "file_identity.hpp"
#include "new_database_rule.hpp"
#include "sidecar/sidecar.hpp"

namespace tenure::sqlite_store {

/// The view of one session. Not thread-safe.
class NewDatabase {
 public:
  NewDatabase(std::string store, std::shared_ptr<const Sidecar> sidecar)
      : store_{std::move(store)}, sidecar_{std::move(sidecar)} {}

  /// To be called with the lock held, right after a look that found no database. No error: the caller creates a
  /// database before it releases the lock. Otherwise a transient error that says which holder is waited for and how
  /// long, or what is in the way. `asker` is the term that the database is created for; null: none.
  [[nodiscard]] std::optional<StoreError> refusal(const StoreFiles& files, CreationLock& lock, const TermName* asker);

  void sawOne() noexcept { rule_.sawOne(); }

 private:
  const std::string store_;
  const std::shared_ptr<const Sidecar> sidecar_;
  NewDatabaseRule rule_;
};

}  // namespace tenure::sqlite_store
