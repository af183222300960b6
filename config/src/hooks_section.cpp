
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "duration.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "sections.hpp"

namespace tenure::config {
namespace {

using std::chrono::milliseconds;

constexpr OptionRange<milliseconds> timeoutRange{milliseconds{100}, std::chrono::hours{1}};

/// `access` gives the command of a HooksConfig, const or not.
template <typename Access>
KeySpec commandKey(KeyText text, Access access) {
  text.fallback = "off";
  return keySpec<std::string>(
      std::move(text),
      textCodec("a command for /bin/sh -c"), [access](auto& config) -> auto& { return access(config.hooks); });
}

}  // namespace

void addReadyKeys(std::vector<KeySpec>& out) {
  out.push_back(commandKey(
      {.path = "candidate.ready",
       .example = "curl -fsS http://localhost:8080/healthz",
       .about = "A command that tenure run runs by /bin/sh -c to find out whether this candidate may be elected: exit "
                "code 0 means yes. Until its first success this candidate does not compete. A run that takes longer "
                "than hooks.timeout is killed and means no. Write $$ for a dollar sign. Programs that embed the "
                "library call setReady instead. For groups with one lease."},
      [](auto& hooks) -> auto& { return hooks.ready; }));
  out.push_back(keySpec<milliseconds>(
      {.path = "candidate.ready_every", .about = "The time from the end of a run of candidate.ready to the next run."},
      durationCodec(timeoutRange), [](auto& config) -> auto& { return config.hooks.readyEvery; }));
  out.push_back(keySpec<OnUnready>(
      {.path = "candidate.on_unready",
       .about = "Whether a leader that turns unready keeps leading (keep) or gives leadership up, as after tenure "
                "resign (step_down)."},
      choiceCodec<OnUnready>({{"keep", OnUnready::keep}, {"step_down", OnUnready::stepDown}}),
      [](auto& config) -> auto& { return config.options.candidate.onUnready; }));
}

void addProbeKeys(std::vector<KeySpec>& out) {
  out.push_back(commandKey(
      {.path = "lease.probe",
       .example = "./can_work",
       .about =
           "A command that tenure run runs by /bin/sh -c while this candidate leads, one run at a time. A run that "
           "exits with 0 counts as progress of the work from the time at which it began; the job reports "
           "none. Without a success for lease.progress_timeout the lease is not renewed. Write $$ for a dollar "
           "sign. For groups with one lease."},
      [](auto& hooks) -> auto& { return hooks.probe; }));
  out.push_back(keySpec<std::string>(
      {.path = "lease.probe_write",
       .fallback = "off",
       .example = "./data/tenure.probe",
       .about =
           "Instead of a command for lease.probe: a small file on the disk that the work needs. Each run writes it "
           "and waits until the disk has it. A file that is there must be one that the probe wrote."},
      textCodec("the path of a file"), [](auto& config) -> auto& { return config.hooks.probeWrite; }));
  const auto third = [&out](KeyText text, auto access,
                            milliseconds (HooksConfig::*result)(milliseconds) const noexcept) {
    text.fallback = "off; with a probe a third of lease.progress_timeout";
    out.push_back(keySpec<milliseconds>(std::move(text), durationCodec(timeoutRange), access));
    out.back().derived = [result](const GroupConfig& config) {
      const auto& timeout = config.options.lease.progressTimeout;
      return timeout && config.hooks.hasProbe() ? durationText((config.hooks.*result)(*timeout)) : std::string{"off"};
    };
  };
  third(
      {.path = "lease.probe_every",
       .example = "5s",
       .about = "The time from the end of a run of the probe to the next run."},
      [](auto& config) -> auto& { return config.hooks.probeEvery; }, &HooksConfig::probePause);
  third(
      {.path = "lease.probe_timeout",
       .example = "5s",
       .about = "How long a run of the probe may take. Then it gets SIGKILL, and has failed. Twice this time and "
                "lease.probe_every must fit into lease.progress_timeout."},
      [](auto& config) -> auto& { return config.hooks.probeTimeout; }, &HooksConfig::probeLimit);
}

void addHookKeys(std::vector<KeySpec>& out) {
  out.push_back(commandKey(
      {.path = "hooks.on_elected",
       .example = "./address up",
       .about = "Runs after this candidate was elected and before the job starts. If it fails or takes too long, the "
                "job is not started, on_revoked runs, and leadership is given up."},
      [](auto& hooks) -> auto& { return hooks.onElected; }));
  out.push_back(commandKey(
      {.path = "hooks.on_renewed",
       .example = "./address renew",
       .about = "Runs at each renewal of the lease, from the end of on_elected to the beginning of on_revoked. It is "
                "skipped while the previous one still runs. A failure is logged."},
      [](auto& hooks) -> auto& { return hooks.onRenewed; }));
  out.push_back(commandKey(
      {.path = "hooks.on_revoked",
       .example = "./address down",
       .about = "Runs when the job has ended, even if leadership was lost, and before the lease is released. If it "
                "fails or takes too long, the lease is not released; it expires."},
      [](auto& hooks) -> auto& { return hooks.onRevoked; }));
  out.push_back(keySpec<milliseconds>(
      {.path = "hooks.timeout", .about = "How long each hook may take. Then its process group gets SIGKILL."},
      durationCodec(timeoutRange), [](auto& config) -> auto& { return config.hooks.timeout; }));
}

namespace {

std::string outOfRange(milliseconds value) {
  return std::to_string(value.count()) + "ms is out of range; allowed is 100ms to 1h";
}

/// So that runs which succeed keep the lease, however much of their time they take: what one shows counts from its
/// beginning, and the next has shown something a pause and two runs later.
std::optional<OptionFault> faultOfProbe(const GroupConfig& config) {
  const HooksConfig& hooks = config.hooks;
  const auto& timeout = config.options.lease.progressTimeout;
  if (!hooks.hasProbe()) {
    if (hooks.probeEvery) return OptionFault{"lease.probeEvery", "needs lease.probe or lease.probe_write"};
    if (hooks.probeTimeout) return OptionFault{"lease.probeTimeout", "needs lease.probe or lease.probe_write"};
    return std::nullopt;
  }
  const std::string key = hooks.probe.empty() ? "lease.probeWrite" : "lease.probe";
  if (!hooks.probe.empty() && !hooks.probeWrite.empty()) {
    return OptionFault{"lease.probeWrite", "cannot be given together with lease.probe; leave one of them out"};
  }
  if (std::string fault = faultOfPath(hooks.probeWrite); !fault.empty()) {
    return OptionFault{"lease.probeWrite", std::move(fault)};
  }
  if (!timeout)
    return OptionFault{key, "needs lease.progress_timeout, how long the lease is renewed without a success"};
  const milliseconds pause = hooks.probePause(*timeout), limit = hooks.probeLimit(*timeout);
  if (pause + 2 * limit <= *timeout) return std::nullopt;
  return OptionFault{
      "lease.progressTimeout",
      durationText(*timeout) + " is shorter than lease.probe_every and twice lease.probe_timeout together (" +
          durationText(pause) + " + 2 x " + durationText(limit) + "), so probes that succeed could not keep the lease"};
}

std::string keyOfHooks(const HooksConfig& hooks) {
  if (!(hooks.onElected.empty() && hooks.onRenewed.empty() && hooks.onRevoked.empty())) return "hooks";
  if (!hooks.ready.empty()) return "candidate.ready";
  return hooks.probe.empty() ? "lease.probeWrite" : "lease.probe";
}

}  // namespace

OptionFaults faultsOfHooks(const GroupConfig& config) {
  const HooksConfig& hooks = config.hooks;
  OptionFaults faults;
  const auto inRange = [&](const char* field, milliseconds value) {
    if (!timeoutRange.holds(value)) faults.push_back({field, outOfRange(value), true});
  };
  inRange("hooks.timeout", hooks.timeout);
  inRange("candidate.readyEvery", hooks.readyEvery);
  inRange("lease.probeEvery", hooks.probeEvery.value_or(timeoutRange.least));
  inRange("lease.probeTimeout", hooks.probeTimeout.value_or(timeoutRange.least));
  if (auto fault = faultOfProbe(config)) faults.push_back(*std::move(fault));
  if (hooks.isEmpty()) return faults;
  const std::string key = keyOfHooks(hooks);
  if (!config.options.shards.shardNames().empty()) {
    faults.push_back({key, "cannot be given in a group with shards; tenure run, which runs them, is for one lease"});
  }
  if (config.options.candidate.mode == CandidateMode::observe) {
    faults.push_back({key, "cannot be given together with candidate.mode observe; an observer never leads"});
  }
  return faults;
}

}  // namespace tenure::config
