#include <boost/json/parse.hpp>

#include "client.hpp"
#include "json_reading.hpp"

namespace tenure::ops {
namespace {

ElectorSummary electorSummaryOf(const boost::json::object& from) {
  using std::chrono::milliseconds;
  ElectorSummary out;
  out.group = textOf(from, "group");
  out.candidate = textOf(from, "candidate");
  out.store = textOf(from, "store");
  out.state = textOf(from, "state");
  out.observes = flagOf(from, "observes");
  out.leads = flagOf(from, "leads");
  out.inDoubt = flagOf(from, "in_doubt");
  out.unready = from.contains("ready") && !flagOf(from, "ready");
  out.token = tokenOf(from, "fencing_token");
  out.remaining = milliseconds{numberOf(from, "remaining_ms")};
  out.leaseDuration = milliseconds{numberOf(from, "lease_duration_ms")};
  const boost::json::object leader = objectOf(from, "leader");
  out.leader = textOf(leader, "name");
  out.leaderToken = tokenOf(leader, "fencing_token");
  out.leaderIsSelf = flagOf(leader, "self");
  out.error = textOf(objectOf(from, "last_error"), "message");
  const boost::json::object counts = objectOf(from, "counts");
  out.terms = numberOf(counts, "terms");
  out.doubts = numberOf(counts, "doubts");
  out.refusals = numberOf(counts, "fence_refusals");
  return out;
}

}  // namespace

boost::system::result<std::vector<ElectorSummary>, AskFault> parseStatus(const std::string& text) {
  const AskFault notStatus{"the answer is not tenure's status; is there another program at that address?"};
  boost::system::error_code wrong;
  const boost::json::value whole = boost::json::parse(text, wrong);
  const boost::json::object* top = wrong ? nullptr : whole.if_object();
  const boost::json::value* electors = top != nullptr ? top->if_contains("electors") : nullptr;
  if (electors == nullptr || !electors->is_array()) return notStatus;
  std::vector<ElectorSummary> out;
  for (const boost::json::value& each : electors->get_array()) {
    if (!each.is_object()) return notStatus;
    out.push_back(electorSummaryOf(each.get_object()));
  }
  return out;
}

}  // namespace tenure::ops
