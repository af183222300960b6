// One job's ledger as JSON.
#pragma once

#include <optional>

#include <boost/json/object.hpp>

#include <tenure/election/jobs/job_ledger.hpp>

namespace tenure {

/// `{"begun":[[from,to],...],"open":[...],"past":[[...],...]}`. Runs are arrays of values, because the record is paid
/// for by its size. "open" is left out if no run is open.
[[nodiscard]] boost::json::object jsonOf(const JobHistory& history);

/// Empty if the shape or the type of a value is another one. What the values mean is checked by JobRuns::faultOf.
[[nodiscard]] std::optional<JobHistory> historyFrom(const boost::json::value& json);

}  // namespace tenure
