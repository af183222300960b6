// The ledgers of the jobs of one lease as a text, which the holder keeps in the lease's record.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "job_runs.hpp"

namespace tenure {

struct JobsDocument {
  std::map<std::string, JobRuns, std::less<>> jobs;  ///< by name
  /// By name: the store's history (RecordVersion::history()) in which a job's ledger was last known to be whole. None
  /// for a store that has one history, and for a ledger that an earlier release wrote.
  std::map<std::string, std::string, std::less<>> histories{};

  friend bool operator==(const JobsDocument&, const JobsDocument&) = default;
};

/// The longest text that is read. The ledger of one job has some 500 bytes, and never more than 4 KiB.
inline constexpr std::size_t maxJobsDocumentBytes = 256 * 1024;

/// Says in one sentence what is wrong with the name of a job. It is 1..64 bytes of UTF-8 without control characters.
[[nodiscard]] TENURE_API std::optional<std::string> faultOfJobName(std::string_view name);
/// The same for a job that is about to be run: its name may not look like another one either (faultOfNameText). A
/// ledger may be there with such a name.
[[nodiscard]] TENURE_API std::optional<std::string> faultOfNewJobName(std::string_view name);

/// The ledgers as JSON on one line, which `jobsDocumentFrom` reads back exactly. Each job's name must have no fault,
/// and all jobs together must fit into maxJobsDocumentBytes; otherwise it throws std::invalid_argument.
[[nodiscard]] std::string textOf(const JobsDocument& document);

/// Reads what `textOf` wrote, and refuses everything else (ErrorClass::corrupt): a ledger that is not understood is
/// never taken for an empty one, because every job would be run again. So an empty text is refused as well; where there
/// is no text, start with an empty JobsDocument. The text of a later release is refused by its version, and the message
/// says so.
[[nodiscard]] StoreResult<JobsDocument> jobsDocumentFrom(std::string_view text);

}  // namespace tenure
