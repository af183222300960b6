// The metric families and how each is filled in.
#include "metric_table.hpp"

#include <algorithm>

#include <tenure/lockcore/version.hpp>

namespace tenure::ops {
namespace {

using std::chrono::nanoseconds;

double seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

constexpr LeaseState states[] = {LeaseState::idle,    LeaseState::candidate, LeaseState::acquiring,
                                 LeaseState::leading, LeaseState::draining,  LeaseState::releasing,
                                 LeaseState::stopped};

/// A family with one sample.
MetricSpec single(std::string name, std::string type, std::string unit, std::string help,
                  std::function<double(const Snapshot&)> value) {
  const std::string suffix = type == "counter" ? "_total" : "";
  return {{std::move(name), std::move(type), std::move(unit), "", std::move(help)},
          [value = std::move(value), suffix](const Snapshot& from, const SampleSink& sink) {
            sink(suffix, {}, value(from));
          }};
}

void addTerm(std::vector<MetricSpec>& out) {
  out.push_back(single("tenure_leader", "gauge", "", "1 if this process leads, by the clock at the scrape, or 0.",
                       [](const Snapshot& s) { return s.standing.leads ? 1 : 0; }));
  out.push_back(
      {{"tenure_candidate_state", "stateset", "", "tenure_candidate_state",
        "The candidate's state: 1 at the present state, 0 at the others."},
       [](const Snapshot& s, const SampleSink& sink) {
         for (const LeaseState state : states) {
           sink("", {{"tenure_candidate_state", std::string{toString(state)}}}, s.lease.state == state ? 1 : 0);
         }
       }});
  out.push_back(single("tenure_fencing_token", "gauge", "",
                       "The fencing token of the term; 0 if this process does not lead.",
                       [](const Snapshot& s) { return static_cast<double>(s.standing.token.value()); }));
  out.push_back(single("tenure_term_start_timestamp_seconds", "gauge", "seconds",
                       "When the term began, by this machine's wall clock; 0 if this process does not lead.",
                       [](const Snapshot& s) { return static_cast<double>(s.electedAtMillis) / 1e3; }));
  out.push_back(single("tenure_lease_remaining_seconds", "gauge", "seconds",
                       "Time for which this process leads if it does not renew; 0 if it does not lead.",
                       [](const Snapshot& s) { return seconds(s.standing.remaining); }));
  out.push_back(single("tenure_lease_duration_seconds", "gauge", "seconds", "The lease.duration of this candidate.",
                       [](const Snapshot& s) { return seconds(s.leaseDuration); }));
  out.push_back(single("tenure_in_doubt", "gauge", "", "1 while renewals fail and the lease is still valid, or 0.",
                       [](const Snapshot& s) { return s.standing.leads && s.lease.inDoubt ? 1 : 0; }));
  out.push_back(single("tenure_ready", "gauge", "", "1 if this candidate may be elected, 0 while it is not ready.",
                       [](const Snapshot& s) { return s.lease.ready ? 1 : 0; }));
}

void addCounts(std::vector<MetricSpec>& out) {
  out.push_back(single("tenure_terms", "counter", "", "Terms that this process won.",
                       [](const Snapshot& s) { return static_cast<double>(s.counts.terms); }));
  out.push_back({{"tenure_revocations", "counter", "", "reason", "Terms that ended, by the reason."},
                 [](const Snapshot& s, const SampleSink& sink) {
                   for (std::size_t i = 0; i < revokeReasons; ++i) {
                     sink("_total", {{"reason", std::string{toString(static_cast<RevokeReason>(i))}}},
                          static_cast<double>(s.counts.revocations[i]));
                   }
                 }});
  out.push_back({{"tenure_renewals", "counter", "", "outcome", "Renewals that were sent, by what became of them."},
                 [](const Snapshot& s, const SampleSink& sink) {
                   for (std::size_t i = 0; i < renewalOutcomes; ++i) {
                     sink("_total", {{"outcome", std::string{toString(static_cast<RenewalOutcome>(i))}}},
                          static_cast<double>(s.counts.renewals[i]));
                   }
                 }});
  out.push_back({{"tenure_renewal_duration_seconds", "histogram", "seconds", "",
                  "Time from sending a renewal to the store's answer."},
                 [](const Snapshot& s, const SampleSink& sink) {
                   std::uint64_t sum = 0;
                   for (std::size_t i = 0; i < s.counts.renewalTimes.size(); ++i) {
                     sum += s.counts.renewalTimes[i];
                     sink("_bucket", {{"le", boundText(i)}}, static_cast<double>(sum));
                   }
                   sink("_count", {}, static_cast<double>(sum));
                   sink("_sum", {}, seconds(s.counts.renewalTimeSum));
                 }});
  out.push_back(single("tenure_doubts", "counter", "", "How often renewals began to fail while this process led.",
                       [](const Snapshot& s) { return static_cast<double>(s.counts.doubts); }));
  out.push_back(single("tenure_fence_refusals", "counter", "",
                       "Writes of this process that a resource refused, as its program reported them "
                       "(Leadership::reportStaleToken).",
                       [](const Snapshot& s) { return static_cast<double>(s.counts.refusals); }));
}

void addWatching(std::vector<MetricSpec>& out) {
  out.push_back(single("tenure_heartbeat_lag_seconds", "gauge", "seconds",
                       "How late the last acknowledged heartbeat was, the store's time included.",
                       [](const Snapshot& s) { return seconds(s.lease.heartbeatLag); }));
  out.push_back(single("tenure_renewal_overdue_seconds", "gauge", "seconds",
                       "How long this elector's next renewal task is overdue.",
                       [](const Snapshot& s) { return seconds(s.overdue); }));
  out.push_back({{"tenure_leader_seen_age_seconds", "gauge", "seconds", "",
                  "Age of what this candidate knows about the leader; no sample before its first read."},
                 [](const Snapshot& s, const SampleSink& sink) {
                   if (s.lease.leaderSeenAgo.count() >= 0) sink("", {}, seconds(s.lease.leaderSeenAgo + s.leaseAge));
                 }});
  out.push_back(single("tenure_leaderless_seconds", "counter", "seconds",
                       "Time in which this candidate saw that the lease was not held.",
                       [](const Snapshot& s) { return seconds(s.counts.leaderless); }));
  out.push_back(single("tenure_effective_leadership_seconds", "counter", "seconds",
                       "Time in which this process led and its work was really done: from Leadership::reportEffective "
                       "to the end of leadership; under `tenure run` from the start of the job, or from the first "
                       "success of lease.probe after it.",
                       [](const Snapshot& s) { return seconds(s.counts.effective); }));
  out.push_back({{"tenure_clock_rate_ppm", "gauge", "ppm", "",
                  "How much faster CLOCK_MONOTONIC ran than CLOCK_MONOTONIC_RAW in the last minute; no sample before "
                  "the first."},
                 [](const Snapshot& s, const SampleSink& sink) {
                   if (s.lease.clockRatePpm) sink("", {}, *s.lease.clockRatePpm);
                 }});
  out.push_back({{"tenure_build", "info", "", "version", "The version of the library."},
                 [](const Snapshot&, const SampleSink& sink) {
                   sink("_info", {{"version", std::string{version}}}, 1);
                 }});
}

}  // namespace

const std::vector<MetricSpec>& metricSpecs() {
  static const std::vector<MetricSpec> all = [] {
    std::vector<MetricSpec> specs;
    addTerm(specs);
    addCounts(specs);
    addWatching(specs);
    return specs;
  }();
  return all;
}

const std::vector<Metric>& otherMetrics() {
  static const std::vector<Metric> all{
      {"tenure_store_requests", "counter", "", "store`, `operation`, `outcome",
       "Requests that a store has answered, by what was asked and what came of it.", false},
      {"tenure_store_request_duration_seconds", "histogram", "seconds", "store`, `operation",
       "Time from a request to the store's answer.", false},
      {"tenure_job_starts", "counter", "", "", "How often `tenure run` has started the job."},
      {"tenure_job_exits", "counter", "", "outcome",
       "Jobs of `tenure run` that ended: with exit code 0, with another one, or by a signal."},
      {"tenure_job_running", "gauge", "", "", "1 while the job of `tenure run` exists; otherwise 0."},
      {"tenure_locks_held", "gauge", "", "", "Locks that a LockClient of this process holds.", false},
      {"tenure_proxy_requests", "counter", "", "outcome",
       "Requests to `tenure fence proxy`, forwarded or refused for a reason.", false},
      {"tenure_log_lines_dropped", "counter", "", "", "Log lines that were lost because stderr was blocked.", false},
  };
  return all;
}

const std::vector<Metric>& metrics() {
  static const std::vector<Metric> all = [] {
    std::vector<Metric> out;
    for (const MetricSpec& spec : metricSpecs()) out.push_back(spec.metric);
    out.insert(out.end(), otherMetrics().begin(), otherMetrics().end());
    return out;
  }();
  return all;
}

MetricFamily familyOf(std::string_view name) {
  const auto& all = otherMetrics();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Metric& metric) { return metric.name == name; });
  return {found == all.end() ? Metric{std::string{name}, "unknown", "", "", "Not known."} : *found};
}

MetricFamily heldLocks(std::size_t locks) {
  MetricFamily out = familyOf("tenure_locks_held");
  out.samples = {{"", {}, static_cast<double>(locks)}};
  return out;
}

}  // namespace tenure::ops
