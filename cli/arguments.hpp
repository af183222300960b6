// The command line as data.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/lock/lock_arguments.hpp"
#include "cli/run/job_arguments.hpp"

namespace tenure::cli {

struct RunArguments {
  std::string config;
  bool once{false};
  std::optional<std::chrono::milliseconds> wait{};
  bool busyOk{false};
  std::string http{};    ///< where to listen; empty: as the file says
  std::string notify{};  ///< job: it finds the service manager's variables as well; empty: it does not
  JobArguments job{};
  std::vector<std::string> command;
};

struct StatusArguments {
  std::string config;
  bool json{false};
  bool watch{false};
};

struct CheckArguments {
  std::string config;
  bool connect{false};
  bool effective{false};
};

struct DoctorArguments {
  std::string config;
  bool json{false};
  bool write{false};
};

struct InitArguments {
  std::string file{"group.yaml"};  ///< "-": stdout
  std::string store{};             ///< empty: the first one
  bool force{false};
};

struct ResignArguments {
  std::string config;
  std::chrono::milliseconds wait{60'000};
};

struct PauseArguments {
  std::string config;
  std::chrono::milliseconds length{0};
  std::string why;
  std::chrono::milliseconds wait{60'000};
};

struct ResumeArguments {
  std::string config;
};

struct HistoryArguments {
  std::string config{};  ///< whose http.listen is asked
  std::string http{};    ///< or this address
  bool json{false};
};

struct WatchArguments {
  std::string config{};  ///< whose http.listen is asked
  std::string http{};    ///< or this address
};

struct JobsArguments {
  std::string config;
  bool json{false};
};

struct JobsForgetArguments {
  std::string config;
  std::optional<std::chrono::sys_seconds> period{};  ///< empty: all of them, and the job itself
  std::string job{};                                 ///< empty: the only one that has a ledger
  bool yes{false};
  std::chrono::milliseconds wait{60'000};
};

struct StoreSqlArguments {
  std::string config{};   ///< the store is that of this file; empty: `dialect` says which
  std::string dialect{};  ///< a store.type
  std::string schema{};   ///< beside `dialect`; empty: the store's default
  std::string table{};    ///< the same
  std::string role{};     ///< who gets the rights; empty: the one that the file names, or a placeholder
};

struct FenceInstallSqlArguments {
  std::string dialect;  ///< postgresql or sqlite
  std::string table;
  std::string lease;
  std::string schema{};       ///< postgresql; empty: public
  std::string tokenColumn{};  ///< sqlite
};

struct FenceProxyArguments {
  std::string listen;    ///< ADDRESS:PORT
  std::string upstream;  ///< http://HOST:PORT
  std::vector<std::string> leases;
  std::string memory;      ///< SQLite file
  std::string keys{};      ///< file; empty: unsigned tokens
  std::string audience{};  ///< with keys: the service's name, as its clients sign it
  std::string withoutToken{"refuse-writes"};
  int staleStatus{409};
  std::size_t maxConnections{1'000};
  std::size_t signedBodyLimit{1U << 20U};
  std::chrono::milliseconds clientTimeout{10'000};
  std::chrono::milliseconds serviceTimeout{30'000};
  std::chrono::milliseconds drainTimeout{30'000};
  std::string logFormat{"text"};
  std::string http{};  ///< where metrics are shown; empty: nowhere
};

struct FenceRecoverArguments {
  std::string config;
  std::string lease{};  ///< empty: the group's
  std::uint64_t token{0};
  std::vector<std::string> resources{};  ///< KIND:WHERE
  bool yes{false};
};

using Arguments = std::variant<RunArguments, StatusArguments, CheckArguments, DoctorArguments, InitArguments,
                               ResignArguments, PauseArguments, ResumeArguments, HistoryArguments, WatchArguments,
                               JobsArguments, JobsForgetArguments, LockArguments, StoreSqlArguments,
                               FenceInstallSqlArguments, FenceProxyArguments, FenceRecoverArguments>;

/// The arguments, or the exit code if there is nothing more to do: help or the version was printed, or a fault was
/// reported on stderr. `words` has no program name.
[[nodiscard]] std::variant<Arguments, int> parseArguments(std::vector<std::string> words);

}  // namespace tenure::cli
