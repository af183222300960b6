// The file of `lease.probe_write`: a run of the probe writes it, and nothing else may.
#pragma once

#include <string>

namespace tenure::cli {

/// Writes something new to the file, and waits until the disk has it. Returns an errno; EEXIST: it is there, and no
/// probe wrote it. It may wait for as long as the disk does, so it runs in a process for which nothing waits.
/// Async-signal-safe.
[[nodiscard]] int writeProbeFile(const std::string& path) noexcept;

/// For people: why that failed.
[[nodiscard]] std::string probeFileFault(int errorNumber);

/// Why a run can certainly not write the file, as this user and at this moment; empty: nothing is known to be wrong.
/// Writes nothing.
[[nodiscard]] std::string faultOfProbeFile(const std::string& path);

}  // namespace tenure::cli
