#include "jobs_document.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <tenure/lockcore/lease_key.hpp>

#include "history_json.hpp"
#include "lockcore/port/name_text.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure {
namespace {

using boost::json::object;
using boost::json::value;

constexpr std::int64_t ownVersion = 1;
constexpr std::size_t mostNameBytes = 64;

StoreError refused(std::string_view text, const std::string& why) {
  return {ErrorClass::corrupt, "the ledger of jobs in the lease's record is not understood: " + why + ". It has " +
                                   std::to_string(text.size()) + " bytes: " + inQuotes(text) +
                                   ". No job is run, because a run could be repeated"};
}

std::string written(const JobsDocument& document) {
  object jobs;
  for (const auto& [name, runs] : document.jobs) jobs[name] = jsonOf(runs.history());
  return boost::json::serialize(object{{"v", ownVersion}, {"jobs", std::move(jobs)}});
}

/// Empty if all is well.
std::string readJobs(const value& json, JobsDocument& out) {
  const object* jobs = json.if_object();
  if (jobs == nullptr) return "\"jobs\" is no object";
  for (const auto& [key, ledger] : *jobs) {
    const std::string name{key.data(), key.size()};
    if (auto fault = faultOfJobName(name)) return "it has a job with a bad name; " + *fault;
    const auto history = historyFrom(ledger);
    if (!history) return "the ledger of job " + inQuotes(name) + " has another shape";
    if (const auto fault = JobRuns::faultOf(*history))
      return "the ledger of job " + inQuotes(name) + " cannot be right: " + *fault;
    out.jobs.emplace(name, JobRuns{*history});
  }
  return {};
}

std::string readDocument(std::string_view text, JobsDocument& out) {
  boost::system::error_code unreadable;
  const value json = boost::json::parse(boost::json::string_view{text.data(), text.size()}, unreadable);
  const object* fields = unreadable ? nullptr : json.if_object();
  if (fields == nullptr) return "it is no JSON object";
  const value* version = fields->if_contains("v");
  const std::int64_t* number = version == nullptr ? nullptr : version->if_int64();
  if (number == nullptr) return "it has no version \"v\"";
  if (*number > ownVersion)
    return "it has version " + std::to_string(*number) + ", and this release knows version " +
           std::to_string(ownVersion) + " only; upgrade this copy";
  if (*number != ownVersion) return "it has version " + std::to_string(*number) + ", which never was";
  const value* jobs = fields->if_contains("jobs");
  if (jobs == nullptr || fields->size() != 2) return "it must have \"v\" and \"jobs\" and nothing else";
  return readJobs(*jobs, out);
}

}  // namespace

std::optional<std::string> faultOfJobName(std::string_view name) {
  const auto forbidden = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (!name.empty() && name.size() <= mostNameBytes && isUtf8(name) &&
      std::none_of(name.begin(), name.end(), forbidden))
    return std::nullopt;
  return inQuotes(name) + " is no name of a job; it must be 1 to " + std::to_string(mostNameBytes) +
         " bytes of UTF-8 text without control characters";
}

std::optional<std::string> faultOfNewJobName(std::string_view name) {
  if (auto fault = faultOfJobName(name)) return fault;
  const auto fault = faultOfNameText(name);
  return fault ? std::optional{inQuotes(name) + ' ' + *fault} : std::nullopt;
}

std::string textOf(const JobsDocument& document) {
  for (const auto& [name, runs] : document.jobs) {
    if (auto fault = faultOfJobName(name)) throw std::invalid_argument(*fault);
  }
  std::string text = written(document);
  if (text.size() > maxJobsDocumentBytes)
    throw std::invalid_argument("the ledgers of " + std::to_string(document.jobs.size()) + " jobs have " +
                                std::to_string(text.size()) + " bytes; at most " +
                                std::to_string(maxJobsDocumentBytes) + " are allowed");
  return text;
}

StoreResult<JobsDocument> jobsDocumentFrom(std::string_view text) {
  if (text.size() > maxJobsDocumentBytes) return refused(text, "it is too long");
  JobsDocument document;
  if (const std::string why = readDocument(text, document); !why.empty()) return refused(text, why);
  // Names that come twice, numbers in another spelling, blanks: whoever wrote them did not mean what was read.
  if (written(document) != text) return refused(text, "it is not spelled as this library writes it");
  return document;
}

}  // namespace tenure
