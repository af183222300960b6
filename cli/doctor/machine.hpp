// Reads what this machine shows: its clocks, limits and files, and the versions of the libraries that are loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tenure/config/group_config.hpp>
#include <tenure/lockcore/clock.hpp>

#include "facts.hpp"

namespace tenure::cli::doctor {

class MachineTree {
 public:
  /// `root`: empty stands for /.
  explicit MachineTree(std::string root = {}) : root_{std::move(root)} {}

  /// The file's text without the line break at its end; empty if it cannot be read. `path` begins with a slash.
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  [[nodiscard]] std::string path(const std::string& path) const { return root_ + path; }

 private:
  std::string root_;
};

/// One moment by all clocks.
struct ClockMark {
  Instant at{};
  std::int64_t wallMillis{0};
};
[[nodiscard]] ClockMark markClocks() noexcept;

/// The rate, the step and the suspend of what lies between.
void compareClocks(const ClockMark& from, const ClockMark& to, ClockFacts& facts);

/// From /proc and /sys: the clock source and the kind of machine.
void readMachine(const MachineTree& tree, ClockFacts& facts);

/// As the kernel disciplines this machine's clock; empty if it does not tell (a sandbox).
[[nodiscard]] std::optional<KernelClock> readKernelClock();

/// All of LimitFacts but what the group needs and has.
[[nodiscard]] LimitFacts readLimits(const MachineTree& tree);

using config::NamedPath;

struct StoreFiles {
  std::vector<NamedPath> secrets{};  ///< passwords, keys, tokens; each must exist
  NamedPath directory{};             ///< without a path: the store keeps nothing on this machine
  bool hasServer{false};             ///< it keeps connections to one, and may have secrets for it in memory

  friend bool operator==(const StoreFiles&, const StoreFiles&) = default;
};
/// Pure.
[[nodiscard]] StoreFiles filesOf(const StoreConfig& store);

/// Of the configuration's file `config`, and of what the store section names.
[[nodiscard]] FilesFacts readFiles(const std::string& config, const StoreFiles& store);

[[nodiscard]] std::vector<Version> versionsHere();

}  // namespace tenure::cli::doctor
