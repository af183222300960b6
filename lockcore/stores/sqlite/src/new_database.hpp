// Whether a database may be made where none is: the steps N1 to N5 of NewDatabaseRule on the files.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/store_error.hpp>

#include "beacon_file.hpp"
#include "file_identity.hpp"
#include "leftovers.hpp"
#include "new_database_rule.hpp"

namespace tenure::sqlite_store {

/// One session's view. Not thread-safe.
class NewDatabase {
 public:
  NewDatabase(std::string store, std::shared_ptr<OwnBeacon> beacon)
      : store_{std::move(store)}, beacon_{std::move(beacon)} {}

  /// Right after a look that found none, with the lock held. Nothing: the caller makes one before it lets the lock go.
  /// Else a transient error that says who is waited for and how long, or what is in the way. `asker` is the term that
  /// the database is made for; null: none.
  [[nodiscard]] std::optional<StoreError> refusal(const StoreFiles& files, CreationLock& lock, const TermName* asker);

  void sawOne() noexcept { rule_.sawOne(); }

 private:
  const std::string store_;
  const std::shared_ptr<OwnBeacon> beacon_;
  NewDatabaseRule rule_;
};

}  // namespace tenure::sqlite_store
