#include "lockcore/machine_harness.hpp"

#include <stdexcept>
#include <utility>

namespace tenure::test {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

namespace {

std::string join(const std::vector<RecordVersion>& versions) {
  if (versions.empty()) return "absent";
  std::string out;
  for (const RecordVersion& v : versions) out += (out.empty() ? "" : "|") + v.text();
  return out;
}

std::string leaderText(const std::optional<LeaderInfo>& leader) {
  if (!leader) return "none";
  return leader->self ? "self" : leader->holder;
}

struct Words {
  std::string operator()(const action::SendRead&) const { return "read"; }
  std::string operator()(const action::SendWrite& a) const {
    switch (a.request.purpose) {
      case WriteRequest::Purpose::acquire:
        return "acquire";
      case WriteRequest::Purpose::renew:
        return "renew";
      case WriteRequest::Purpose::release:
        return "release";
    }
    return "?";
  }
  std::string operator()(const action::Publish& a) const {
    if (a.term.token.isNone()) return "publish(none)";
    if (a.term.leadsFor > 0ns) return "publish(leads)";
    return a.term.validFor > 0ns ? "publish(ends)" : "publish(lost)";
  }
  std::string operator()(const action::Elected& a) const { return "elected(" + toString(a.token) + ")"; }
  std::string operator()(const action::Renewed& a) const { return a.afterDoubt ? "renewed(afterDoubt)" : "renewed"; }
  std::string operator()(const action::Recorded& a) const {
    const std::string first = a.first == a.last ? "" : std::to_string(a.first) + "-";
    using Outcome = action::Recorded::Outcome;
    const char* what = a.outcome == Outcome::recorded  ? "recorded"
                       : a.outcome == Outcome::refused ? "refused"
                                                       : "unrecorded";
    return what + ("(" + first) + std::to_string(a.last) + ")";
  }
  std::string operator()(const action::InDoubt&) const { return "inDoubt"; }
  std::string operator()(const action::Revoked& a) const { return "revoked(" + std::string{toString(a.reason)} + ")"; }
  std::string operator()(const action::LeaderChanged& a) const { return "leader(" + leaderText(a.leader) + ")"; }
  std::string operator()(const action::VacancyExpected&) const { return {}; }  // in `vacancies`
  std::string operator()(const action::FollowHolder& a) const { return a.record ? "follow" : "unfollow"; }
  std::string operator()(const action::GaveUp& a) const { return "gaveUp(" + std::string{toString(a.reason)} + ")"; }
  std::string operator()(const action::Stopped& a) const { return "stopped(" + std::string{toString(a.result)} + ")"; }
  std::string operator()(const action::Log&) const { return "log"; }
};

MachineOptions optionsFor(const LeaseOptions& options, unsigned priority) {
  MachineOptions machine{LeaseKey{"lease"}, selfName, LeaseTiming::from(options).value()};
  machine.priority = priority;
  machine.displayClock = []() noexcept { return MachineHarness::displayedMillis; };
  return machine;
}

MachineOptions optionsFor(const LeaseOptions& options, OneTerm oneTerm, bool manualHeartbeat) {
  MachineOptions machine = optionsFor(options, 0);
  machine.oneTerm = std::move(oneTerm);
  machine.manualHeartbeat = manualHeartbeat;
  return machine;
}

}  // namespace

LeaseOptions tenSecondLease() {
  LeaseOptions options;
  options.duration = 10s;
  options.heartbeat = 3s;
  options.stopMargin = 1s;
  return options;
}

std::string describe(const LeaseActions& actions) {
  std::string out;
  for (const LeaseAction& a : actions) {
    const std::string word = std::visit(Words{}, a);
    if (!out.empty() && !word.empty()) out += ' ';
    out += word;
  }
  return out;
}

LeaseRecord othersRecord(const std::string& version, std::uint64_t token, std::chrono::milliseconds duration) {
  LeaseRecord record;
  record.holder = "b#2";
  record.version = RecordVersion{version};
  record.leaseDuration = duration;
  record.token = FencingToken{token};
  return record;
}

LeaseRecord releasedRecord(const std::string& version, std::uint64_t token) {
  LeaseRecord record = othersRecord(version, token);
  record.released = true;
  return record;
}

MachineHarness::MachineHarness(const LeaseOptions& options, unsigned priority)
    : machine{optionsFor(options, priority), random} {}

MachineHarness::MachineHarness(const LeaseOptions& options, OneTerm oneTerm, bool manualHeartbeat)
    : machine{optionsFor(options, std::move(oneTerm), manualHeartbeat), random} {}

std::string MachineHarness::step(const LeaseEvent& event) {
  const LeaseActions actions = machine.step(now, event);
  keep(actions);
  return describe(actions);
}

void MachineHarness::keep(const LeaseActions& actions) {
  for (const LeaseAction& a : actions) {
    if (const auto* read = std::get_if<action::SendRead>(&a)) {
      attempt_ = read->attempt;
      lastTimeout = read->timeout;
    } else if (const auto* write = std::get_if<action::SendWrite>(&a)) {
      attempt_ = write->attempt;
      lastTimeout = write->timeout;
      write_ = write->request;
    } else if (const auto* publish = std::get_if<action::Publish>(&a)) {
      published_ = publish->term;
    } else if (const auto* revoked = std::get_if<action::Revoked>(&a)) {
      revocations_.push_back(*revoked);
    } else if (const auto* elected = std::get_if<action::Elected>(&a)) {
      ++elections_;
      payload_ = elected->payload;
    } else if (const auto* stopped = std::get_if<action::Stopped>(&a)) {
      memory_ = stopped->memory;
    } else if (const auto* vacancy = std::get_if<action::VacancyExpected>(&a)) {
      vacancies.push_back(vacancy->remaining);
    } else if (const auto* line = std::get_if<action::Log>(&a)) {
      logLines.push_back(line->line);
    }
  }
}

std::string MachineHarness::after(nanoseconds d) {
  now = now + d;
  return wake();
}

std::string MachineHarness::toWakeup() {
  const auto until = machine.untilWakeup(now);
  if (!until) throw std::logic_error("the machine asks for no wake-up");
  return after(*until);
}

const WriteRequest& MachineHarness::write() const { return write_.value(); }

std::string MachineHarness::expected() const { return join(write().expected); }

LeaseRecord MachineHarness::written(std::uint64_t token) const {
  LeaseRecord record = write().record;
  record.token = FencingToken{token};
  record.released = write().purpose == WriteRequest::Purpose::release;
  return record;
}

void MachineHarness::becomeReading() { step(event::Start{}); }

void MachineHarness::becomeCandidate() {
  becomeReading();
  answerRead(std::optional{othersRecord()});
}

void MachineHarness::becomeAcquiring() {
  becomeReading();
  answerRead(std::optional<LeaseRecord>{});
  if (state() == LeaseState::candidate) toWakeup();
}

void MachineHarness::becomeLeading(std::uint64_t token) {
  becomeAcquiring();
  answerWrite(Applied{FencingToken{token}});
}

void MachineHarness::becomeRenewing() {
  becomeLeading();
  after(3s);
}

void MachineHarness::becomeDraining() {
  becomeLeading();
  step(event::StepDown{"for a test"});
}

void MachineHarness::becomeDrainingWhileRenewing() {
  becomeRenewing();
  step(event::StepDown{"for a test"});
}

void MachineHarness::becomeReleasing() {
  becomeDraining();
  step(event::WorkEnded{});
}

void MachineHarness::becomeReleasingBehindRenewal() {
  becomeDrainingWhileRenewing();
  step(event::WorkEnded{});
}

void MachineHarness::becomeStopped() { step(event::Stop{}); }

std::string readUntilElse(MachineHarness& m, const std::optional<LeaseRecord>& record) {
  std::string did = m.toWakeup();
  for (int i = 0; did == "read" && i < 1000; ++i) {
    did = m.answerRead(record);
    if (did.empty()) did = m.toWakeup();
  }
  return did;
}

}  // namespace tenure::test
