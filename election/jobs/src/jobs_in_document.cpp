#include "jobs_in_document.hpp"

#include <boost/json.hpp>

#include "election/src/leader_document.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {
namespace {

constexpr const char* memberName = "jobs";
/// Apart from the ledgers, because earlier releases keep members that they do not know, and refuse ledgers of another
/// shape.
constexpr const char* historiesName = "job_histories";

StoreError notOurs(const std::string& document) {
  return {ErrorClass::corrupt, "the lease's record has data that are not this release's: " + inQuotes(document) +
                                   ". They are left as they are, and no job is run, because a run could be repeated. "
                                   "Upgrade this copy if a later release wrote them; otherwise rename the group"};
}

bool readHistories(const boost::json::value& json, std::map<std::string, std::string, std::less<>>& out) {
  const boost::json::object* members = json.if_object();
  if (members == nullptr) return false;
  for (const auto& [name, history] : *members) {
    if (!history.is_string()) return false;
    out.emplace(std::string{name.data(), name.size()}, std::string{history.get_string()});
  }
  return true;
}

}  // namespace

StoreResult<JobsDocument> jobsIn(const std::string& document) {
  const auto members = membersOfDocument(document);
  if (!members) return notOurs(document);
  const boost::json::value* jobs = members->if_contains(memberName);
  StoreResult<JobsDocument> found = jobs == nullptr ? JobsDocument{} : jobsDocumentFrom(boost::json::serialize(*jobs));
  if (!found) return found;
  const boost::json::value* histories = members->if_contains(historiesName);
  if (histories != nullptr && !readHistories(*histories, found->histories)) return notOurs(document);
  return found;
}

StoreResult<std::string> withJobs(const std::string& document, const JobsDocument& jobs) {
  auto members = membersOfDocument(document);
  if (!members) return notOurs(document);
  std::string text;
  if (const auto why = whatThrown([&] { text = textOf(jobs); })) return StoreError{ErrorClass::misconfigured, *why};
  (*members)[memberName] = boost::json::parse(text);
  boost::json::object histories;
  for (const auto& [name, history] : jobs.histories) {
    if (jobs.jobs.contains(name)) histories[name] = history;  // not of those that were forgotten
  }
  members->erase(historiesName);
  if (!histories.empty()) (*members)[historiesName] = std::move(histories);
  std::string whole = boost::json::serialize(*members);
  if (!membersOfDocument(whole)) return notOurs(document);  // too long
  return whole;
}

}  // namespace tenure
