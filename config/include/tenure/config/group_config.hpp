// The contents of a group's YAML file, as plain data.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/election/group.hpp>
#include <tenure/jobs/schedule.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>
#include <tenure/lockcore/stores/etcd_store.hpp>
#include <tenure/lockcore/stores/kubernetes_store.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/lockcore/stores/postgresql_store.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

namespace tenure {

class LeaseStore;

/// The options of the Kubernetes store, or the kubeconfig files that have server and user
/// (<tenure/config/load_group.hpp>).
struct KubernetesConfig : KubernetesStoreOptions {
  std::string kubeconfig{};  ///< path of the file, or a list as in KUBECONFIG; empty: there is none
  std::string context{};     ///< one of the file's; empty: its current-context

  friend bool operator==(const KubernetesConfig&, const KubernetesConfig&) = default;
};

/// Includes keys that contradict `kubeconfig`; the kubeconfig file itself is not read.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const KubernetesConfig& config);

/// The store section, and the list of stores: one alternative for each `store.type`, in the order in which texts and
/// messages name them. The first one is that of the examples.
using StoreConfig = std::variant<SqliteStoreOptions, DynamoDbStoreOptions, PostgresqlStoreOptions, EtcdStoreOptions,
                                 KubernetesConfig, MemoryStoreOptions>;

/// A job of the section `jobs`: when it runs, and how missed and failed runs are treated. The work of the job
/// is not in the file; a program provides it.
struct JobConfig {
  std::string name{};                              ///< faultOfJobName; each once
  std::string schedule{};                          ///< five fields as in crontab, for Schedule::cron; or `per`
  std::optional<std::chrono::milliseconds> per{};  ///< the length of a period, for Schedule::every
  std::string timeZone{"UTC"};                     ///< of `schedule`
  JobPolicy policy{};
  Overlap overlap{Overlap::wait};

  friend bool operator==(const JobConfig&, const JobConfig&) = default;
};

/// When the job's periods begin. The faults' fields are "schedule", "per" and "timeZone".
[[nodiscard]] TENURE_API boost::system::result<Schedule, OptionFaults> scheduleOf(const JobConfig& job);

/// The section `routing`: by which label of pods the leader is found (PodLabel). Only with the Kubernetes store, and in
/// a group with one lease. All is empty: there is none.
struct RoutingConfig {
  std::string pod{};       ///< the pod in which the process runs
  std::string selector{};  ///< finds all pods that may lead, by equality

  [[nodiscard]] bool isNone() const noexcept { return pod.empty() && selector.empty(); }

  friend bool operator==(const RoutingConfig&, const RoutingConfig&) = default;
};

/// The section `hooks`: commands for /bin/sh -c that `tenure run` runs at the events of a term; empty: none. A program
/// with its own elector has callbacks instead, and runs none of these.
struct HooksConfig {
  std::string onElected{};
  std::string onRenewed{};
  std::string onRevoked{};
  /// `candidate.ready`: the candidate may be elected once it has ended with 0, for as long as it does.
  std::string ready{};
  std::chrono::milliseconds readyEvery{5'000};  ///< from the end of a run of `ready` to the next; 100 ms to 1 h
  /// `lease.probe` and `lease.probe_write`, at most one of them: a success is the work's progress, which
  /// LeaseOptions::progressTimeout then asks of it instead of the job.
  std::string probe{};
  std::string probeWrite{};
  std::optional<std::chrono::milliseconds> probeEvery{};    ///< `lease.probe_every`, 100 ms to 1 h
  std::optional<std::chrono::milliseconds> probeTimeout{};  ///< `lease.probe_timeout`, 100 ms to 1 h
  std::chrono::milliseconds timeout{10'000};                ///< of each run but the probe's; 100 ms to 1 h

  [[nodiscard]] bool isEmpty() const noexcept {
    return onElected.empty() && onRenewed.empty() && onRevoked.empty() && ready.empty() && !hasProbe();
  }
  [[nodiscard]] bool hasProbe() const noexcept { return !probe.empty() || !probeWrite.empty(); }
  /// From the end of a run of the probe to the next; unset: a third of the progress timeout.
  [[nodiscard]] std::chrono::milliseconds probePause(std::chrono::milliseconds progressTimeout) const noexcept {
    return probeEvery.value_or(progressTimeout / 3);
  }
  /// How long a run of the probe may take; unset: a third of the progress timeout.
  [[nodiscard]] std::chrono::milliseconds probeLimit(std::chrono::milliseconds progressTimeout) const noexcept {
    return probeTimeout.value_or(progressTimeout / 3);
  }

  friend bool operator==(const HooksConfig&, const HooksConfig&) = default;
};

/// One YAML file. Values that the file leaves out have the defaults of these structs; lease values that are computed
/// from others (heartbeat, clockMargin, ...) stay unset.
struct GroupConfig {
  GroupOptions options{};
  StoreConfig store{};                   ///< has no path yet, so it must be given
  bool crashNotice{true};                ///< `store.crash_notice`; of SQLite: SqliteStoreOptions::crashNotice instead
  LogLevel logLevel{LogLevel::info};     ///< `log.level`
  LogFormat logFormat{LogFormat::text};  ///< `log.format`
  std::string httpListen{};              ///< `http.listen`, for HttpListener of tenure::ops; empty: off
  std::vector<std::string> httpHosts{};  ///< `http.hosts`, for ListenerOptions::hosts
  RoutingConfig routing{};               ///< `routing`
  HooksConfig hooks{};                   ///< `hooks`
  std::vector<JobConfig> jobs{};         ///< in the order of the file
  /// Of hooks in whose commands variables were replaced: the file's own text, by key. effectiveYaml() shows it, because
  /// a variable of a command may be a secret. Not compared.
  std::map<std::string, std::string> hooksAsWritten{};

  TENURE_API friend bool operator==(const GroupConfig& a, const GroupConfig& b);
};

/// Every fault of the values, those of the store's with "store." before the field, those of a job's with "jobs.NAME.";
/// empty if makeGroup would succeed. It has no side effects.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const GroupConfig& config);

/// The store that the section describes. This makes no request and opens no file; that happens at the store's first
/// use. Each call makes a new object; candidates in one process should share one. The section must have no faults.
[[nodiscard]] TENURE_API std::shared_ptr<LeaseStore> makeStore(const StoreConfig& store, Logger logger = {});

/// A validated group with its store. Without a logger: lines of `logLevel` and above go to stderr.
[[nodiscard]] TENURE_API boost::system::result<Group, OptionFaults> makeGroup(const GroupConfig& config);
[[nodiscard]] TENURE_API boost::system::result<Group, OptionFaults> makeGroup(const GroupConfig& config, Logger logger);

/// The configuration as a YAML file that states every value, for people and for tools. Values that are not set but
/// computed from others are in comments (`# heartbeat: 3333ms`), so loading the text again gives an equal config.
[[nodiscard]] TENURE_API std::string effectiveYaml(const GroupConfig& config);

}  // namespace tenure
