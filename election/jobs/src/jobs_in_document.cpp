#include "jobs_in_document.hpp"

#include <optional>

#include <boost/json.hpp>

#include "election/src/leader_document.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {
namespace {

constexpr const char* memberName = "jobs";

StoreError notOurs(const std::string& document) {
  return {ErrorClass::corrupt, "the lease's record has data that are not this release's: " + inQuotes(document) +
                                   ". They are left as they are, and no job is run, because a run could be repeated. "
                                   "Upgrade this copy if a later release wrote them; else give the group a name of its "
                                   "own"};
}

}  // namespace

StoreResult<JobsDocument> jobsIn(const std::string& document) {
  const auto members = membersOfDocument(document);
  if (!members) return notOurs(document);
  const boost::json::value* jobs = members->if_contains(memberName);
  if (jobs == nullptr) return JobsDocument{};
  return jobsDocumentFrom(boost::json::serialize(*jobs));
}

StoreResult<std::string> withJobs(const std::string& document, const JobsDocument& jobs) {
  auto members = membersOfDocument(document);
  if (!members) return notOurs(document);
  std::string text;
  if (const auto why = whatThrown([&] { text = textOf(jobs); })) return StoreError{ErrorClass::misconfigured, *why};
  (*members)[memberName] = boost::json::parse(text);
  std::string whole = boost::json::serialize(*members);
  if (!membersOfDocument(whole)) return notOurs(document);  // too long
  return whole;
}

}  // namespace tenure
