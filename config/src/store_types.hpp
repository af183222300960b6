// What there is to know of each store: a row for each alternative of StoreConfig, from its file under stores/.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_store.hpp>

#include "key_spec.hpp"
#include "lockcore/port/file_access.hpp"

namespace tenure::config {

/// Whether the server's standbys are awaited before a write is acknowledged.
struct CommitRule {
  std::string mode{};  ///< `synchronous_commit: on`
  bool awaitsStandbys{false};
  std::string advice{};  ///< how to have them awaited: `set ...: docs/...`
};

/// What a store's server says of itself.
struct ServerFacts {
  std::optional<std::chrono::seconds> skew{};  ///< its wall clock less this machine's
  bool signs{false};                           ///< requests carry signatures with times
  std::string version{};                       ///< `etcd 3.5.16`; empty: it does not tell
  std::string whyNot{};                        ///< not empty: it could not be asked
};

/// A path, and the key of the file that names it.
struct NamedPath {
  std::string what;
  std::string path;

  friend bool operator==(const NamedPath&, const NamedPath&) = default;
};

struct LibraryVersion {
  std::string name{};
  std::string version{};

  friend bool operator==(const LibraryVersion&, const LibraryVersion&) = default;
};

struct StoreType {
  std::string name;       ///< as in `store.type`
  std::string about{};    ///< when to use it, in a sentence
  std::string without{};  ///< not empty: this build does not have the store, and why; then nothing else is filled in
  std::string sample{};   ///< the store section's lines in the file of `tenure init`, with comments
  StoreConfig defaults{};
  std::vector<KeySpec> keys{};  ///< besides `store.type`; only called while `defaults`' alternative is held
  bool ofOneProcess{false};     ///< other processes do not see it, so they neither compete nor wait for a lock
  /// What the options' own check finds. Without side effects.
  std::function<OptionFaults(const StoreConfig& store)> faults{};
  /// Makes relative paths relative to `directory`.
  std::function<void(StoreConfig& store, const std::filesystem::path& directory)> resolvePaths =
      [](StoreConfig&, const std::filesystem::path&) {};
  std::function<std::shared_ptr<LeaseStore>(const StoreConfig& store, Logger logger)> make{};
  /// Reads what the store needs on this machine besides what its factory reads, as the store itself reads it. Nothing
  /// is made or asked of a server. A permanent error is one that stays until the file is another.
  std::function<StoreStatus(const StoreConfig& store)> readFiles = [](const StoreConfig&) { return StoreStatus{}; };
  /// What this user may do with the store's files, without making or changing any. Empty: the store has a server, or
  /// none of both.
  std::function<FileAccess(const StoreConfig& store)> access{};
  /// The files with passwords, keys and tokens; a path may be empty.
  std::vector<std::function<NamedPath(const StoreConfig& store)>> secrets{};
  /// The directory on this machine where the store keeps files. An empty path or function: nowhere.
  std::function<NamedPath(const StoreConfig& store)> directory{};
  /// Asks the store's server. Blocking, for a few seconds for each that does not answer. Throws std::exception where
  /// there is nobody to ask. Empty: the store has no server, and so no secrets.
  std::function<ServerFacts(const StoreConfig& store)> server{};
  /// The library of another project that this process has loaded for the store; without a name: none.
  LibraryVersion library{};
  /// Why the record of a lease does not outlast a release; empty function or text: it does.
  std::function<std::string(const StoreConfig& store)> whyForgets{};
  /// The SQL that an administrator runs for the store, with the grants for `role` (empty: a placeholder, or the role
  /// that `store` names). Empty: the store needs none.
  std::function<std::string(const StoreConfig& store, const std::string& role)> schemaSql{};
  /// What acknowledged writes survive, where that is a matter of configuration. Empty: it is none.
  std::function<CommitRule(const StoreConfig& store)> commits{};
};

/// Of the stores that this build has, in the order of StoreConfig.
[[nodiscard]] TENURE_API const std::vector<StoreType>& storeTypes();

/// Why `name` is no store of this build, although it is one of the library; empty: it is none of the library's either.
[[nodiscard]] TENURE_API std::string whyWithout(std::string_view name);

/// The row for the alternative that `store` holds.
[[nodiscard]] TENURE_API const StoreType& typeOf(const StoreConfig& store);

/// Whether `tenure run` says in the store that its crashed term is over. Not if a hook undoes what a term has done,
/// because after a crash it has not.
[[nodiscard]] TENURE_API bool givesCrashNotice(const GroupConfig& config);
/// The store's section as `tenure run` uses it: without notices of any kind if it gives none.
[[nodiscard]] TENURE_API StoreConfig storeOfRun(const GroupConfig& config);

/// The row of the store with these options. Each file under stores/ has one.
template <typename Options>
[[nodiscard]] StoreType storeType();

}  // namespace tenure::config
