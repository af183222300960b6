// The ledgers of jobs as a part of the document in a leader's record.
#pragma once

#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "jobs_document.hpp"

namespace tenure {

// They are the members "jobs" and "job_histories" of the document (election/src/leader_document.hpp). Unlike the
// address they outlive the term. ErrorClass::corrupt: the data are somebody else's or of a later version, or the
// ledgers are not understood.

/// None if the document has no such member, or if there is no document.
[[nodiscard]] TENURE_API StoreResult<JobsDocument> jobsIn(const std::string& document);

/// The same document with these ledgers. It must be one of which `jobsIn` reads the ledgers.
[[nodiscard]] TENURE_API StoreResult<std::string> withJobs(const std::string& document, const JobsDocument& jobs);

}  // namespace tenure
