// Asks the store what an election asks it, measures, and reads what its server says of itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include <tenure/config/group_config.hpp>

#include "cli/group/config_file.hpp"
#include "facts.hpp"

namespace tenure::cli::doctor {

struct ProbeOptions {
  bool writes{false};
  std::size_t calls{200};                 ///< of each kind, if there is time
  std::chrono::milliseconds time{3'000};  ///< for each kind; the last call may take longer
};

/// Blocking. Reads only, unless `writes`: then the store is made ready as `tenure check --connect` does, and a lease of
/// the doctor's own is acquired, renewed and removed. Its fencing counter stays, as that of every lease does.
[[nodiscard]] StoreFacts probeStore(const GroupConfig& config, const LeaseOfGroup& lease, const ProbeOptions& options);

/// The name of that lease. One for a store, so that many doctors leave one counter.
inline constexpr const char* doctorLease = "tenure-doctor";

/// Blocking, for a few seconds for each server that does not answer. Empty: the store has none.
[[nodiscard]] std::optional<ServerFacts> askServer(const StoreConfig& store);

}  // namespace tenure::cli::doctor
