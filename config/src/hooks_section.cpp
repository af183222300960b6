
#include <chrono>
#include <string>
#include <utility>

#include "sections.hpp"

namespace tenure::config {
namespace {

using std::chrono::milliseconds;

constexpr OptionRange<milliseconds> timeoutRange{milliseconds{100}, std::chrono::hours{1}};

/// `access` gives the command of a HooksConfig, const or not.
template <typename Access>
KeySpec commandKey(KeyText text, Access access) {
  text.fallback = "off";
  KeySpec spec = keySpec<std::string>(
      std::move(text),
      textCodec("a command for /bin/sh -c"), [access](auto& config) -> auto& { return access(config.hooks); });
  spec.derived = [](const GroupConfig&) { return "off"; };
  return spec;
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

OptionFaults faultsOfHooks(const GroupConfig& config) {
  const HooksConfig& hooks = config.hooks;
  OptionFaults faults;
  if (!timeoutRange.holds(hooks.timeout)) {
    faults.push_back(
        {"hooks.timeout", std::to_string(hooks.timeout.count()) + "ms is out of range; allowed is 100ms to 1h", true});
  }
  if (!timeoutRange.holds(hooks.readyEvery)) {
    faults.push_back({"candidate.readyEvery",
                      std::to_string(hooks.readyEvery.count()) + "ms is out of range; allowed is 100ms to 1h", true});
  }
  if (hooks.isEmpty()) return faults;
  HooksConfig onlyReady = hooks;
  onlyReady.ready.clear();
  const std::string key = onlyReady.isEmpty() ? "candidate.ready" : "hooks";
  if (!config.options.shards.shardNames().empty()) {
    faults.push_back({key, "cannot be given in a group with shards; tenure run, which runs them, is for one lease"});
  }
  if (config.options.candidate.mode == CandidateMode::observe) {
    faults.push_back({key, "cannot be given together with candidate.mode observe; an observer never leads"});
  }
  return faults;
}

}  // namespace tenure::config
