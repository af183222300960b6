// What `tenure doctor` knows of the machine and of the store when it judges. Plain data: whoever reads it does I/O,
// whoever judges it does none. An optional that is empty was not shown by this system.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "config/src/store_types.hpp"
#include "latency.hpp"
#include "lockcore/port/file_access.hpp"

namespace tenure::cli::doctor {

/// The clock as the kernel disciplines it (adjtimex).
struct KernelClock {
  bool synchronised{false};
  double correctionPpm{0};  ///< frequency and tick together; positive: the clock is made faster

  friend bool operator==(const KernelClock&, const KernelClock&) = default;
};

struct ClockFacts {
  std::chrono::nanoseconds span{0};  ///< how long the clocks were compared
  double ratePpm{0};                 ///< MONOTONIC against RAW; positive: it was faster
  std::chrono::nanoseconds wallStep{0};
  std::chrono::nanoseconds suspended{0};  ///< since the machine was started
  std::optional<KernelClock> kernel{};
  std::optional<std::string> source{};
  bool steadyTsc{false};  ///< the processor says that its TSC has a constant rate and never stops
  std::optional<bool> isVirtual{};
  std::string machine{};  ///< the maker's name for it; may be empty

  friend bool operator==(const ClockFacts&, const ClockFacts&) = default;
};

using config::ServerFacts;

struct StoreFacts {
  std::string name{};  ///< as the store describes itself
  std::string type{};
  std::optional<StoreError> error{};            ///< of the first contact; then nothing else was tried
  std::string schemaSql{};                      ///< that mends the error; empty: none does
  std::string tokens{};                         ///< what is wrong with the lease's tokens; empty: nothing
  std::optional<config::CommitRule> commits{};  ///< empty: the store has no such choice
  Latencies reads{};
  std::optional<Latencies> writes{};  ///< empty: not asked for
  std::optional<StoreError> writeError{};
  bool hasCollided{false};   ///< another doctor wrote to the same lease
  std::string leftBehind{};  ///< why the doctor's own record was not removed; empty: it was
  std::optional<ServerFacts> server{};
};

/// A file or a directory of the configuration.
struct FileFacts {
  std::string what{};  ///< for people: "the configuration file", "store.passfile"
  std::string path{};
  std::string error{};    ///< why it cannot be examined; empty: it can
  unsigned mode{0};       ///< the permission bits and the sticky bit
  bool accessible{true};  ///< this user may read it; a directory: may write to it
};

struct FileSystemFacts {
  std::uint32_t type{0};  ///< as statfs(2) has it
  bool readOnly{false};
  std::uint64_t freeBytes{0};
  std::optional<std::uint64_t> freeInodes{};  ///< empty: this file system has no fixed number
};

struct PlaceFacts {
  FileFacts directory{};
  bool keepsLeases{true};  ///< false: the leases are at a server, and the files here tell of crashes alone
  std::optional<FileSystemFacts> system{};
};

struct FilesFacts {
  FileFacts config{};
  FileFacts configDirectory{};
  std::vector<FileFacts> secrets{};
  std::optional<PlaceFacts> place{};   ///< where the store keeps files on this machine; empty: nowhere
  std::optional<FileAccess> access{};  ///< to the files of a store that is one; empty: it has a server
};

/// Empty numbers: unlimited.
struct CpuQuota {
  std::optional<std::chrono::microseconds> quota{};
  std::chrono::microseconds period{100'000};
  std::uint64_t periods{0};
  std::uint64_t throttled{0};  ///< periods in which it was stopped
  std::chrono::microseconds throttledTime{0};

  friend bool operator==(const CpuQuota&, const CpuQuota&) = default;
};

struct MemoryLimit {
  std::optional<std::uint64_t> most{};
  std::uint64_t used{0};
  std::uint64_t kills{0};

  friend bool operator==(const MemoryLimit&, const MemoryLimit&) = default;
};

/// Shares of the last minute in percent.
struct Pressure {
  double cpuSome{0};
  double memoryFull{0};
  double ioFull{0};

  friend bool operator==(const Pressure&, const Pressure&) = default;
};

struct Room {
  std::string limit{};  ///< for people: `ulimit -u`, `pids.max`
  std::uint64_t most{0};
  std::uint64_t used{0};

  friend bool operator==(const Room&, const Room&) = default;
};

struct LimitFacts {
  bool hasProc{true};                          ///< /proc is mounted
  std::optional<std::uint64_t> descriptors{};  ///< the soft limit
  std::uint64_t descriptorsNeeded{0};
  std::vector<Room> processes{};  ///< each limit that there is
  std::optional<std::uint64_t> coreBytes{};
  std::string corePattern{};
  bool hasSecrets{false};
  std::optional<CpuQuota> cpu{};
  std::optional<MemoryLimit> memory{};
  std::optional<Pressure> pressure{};
  std::optional<int> nice{};
  std::optional<int> policy{};   ///< as in sched.h
  std::string whyNoJobCgroup{};  ///< empty: each job gets a cgroup

  friend bool operator==(const LimitFacts&, const LimitFacts&) = default;
};

using Version = config::LibraryVersion;

struct Facts {
  std::string file{};
  std::string group{};
  LeaseOptions lease{};
  ClockFacts clock{};
  StoreFacts store{};
  FilesFacts files{};
  LimitFacts limits{};
  std::vector<Version> versions{};
};

}  // namespace tenure::cli::doctor
