// `tenure doctor`: gathers the facts, has them judged, and prints what was found.
#include <poll.h>
#include <stdexcept>

#include <tenure/lockcore/clock.hpp>
#include <tenure/ops/http_listener.hpp>

#include "cli/commands.hpp"
#include "cli/group/config_file.hpp"
#include "cli/process/job_cgroup.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "config/src/store_types.hpp"
#include "judge.hpp"
#include "machine.hpp"
#include "probe.hpp"
#include "report.hpp"

namespace tenure::cli {
namespace {

using namespace doctor;
using std::chrono::milliseconds;

/// By then two clocks that differ by a ppm are a microsecond apart, which is more than reading them takes.
constexpr milliseconds clockSpan{1'000};

/// What a candidate has open beside the connections to a server and of its listener: files, sockets, pipes, timers.
constexpr std::uint64_t descriptorsOfACandidate = 64, connectionsToAServer = 64;

struct DoctorArguments {
  std::string config;
  bool json{false};
  bool write{false};
};

void waitUntil(const Instant& from, milliseconds span) {
  for (;;) {
    const auto left = span - elapsedForHolder(from, readClock());
    if (left.count() <= 0) return;
    poll(nullptr, 0, static_cast<int>(std::chrono::ceil<milliseconds>(left).count()));
  }
}

LimitFacts limitsOf(const MachineTree& tree, const StoreFiles& files, bool listens) {
  LimitFacts limits = readLimits(tree);
  limits.descriptorsNeeded = descriptorsOfACandidate + (files.hasServer ? connectionsToAServer : 0) +
                             (listens ? ops::ListenerOptions{}.connections : 0);
  limits.hasSecrets = files.hasServer;
  limits.whyNoJobCgroup = whyNoJobCgroup();
  return limits;
}

/// A store that cannot even be made (a certificate that is missing) is a finding like others.
StoreFacts probe(const GroupConfig& config, const ProbeOptions& options) {
  try {
    return probeStore(config, leaseOf(config), options);
  } catch (const std::runtime_error& fault) {
    return {.name = config::typeOf(config.store).name, .error = StoreError{ErrorClass::misconfigured, fault.what()}};
  }
}

Facts gather(const DoctorArguments& arguments, const GroupConfig& config) {
  const MachineTree tree;
  const StoreFiles files = filesOf(config.store);
  Facts facts{.file = arguments.config, .group = config.options.group, .lease = config.options.lease};
  const ClockMark begun = markClocks();
  facts.files = readFiles(arguments.config, files);  // before the store makes anything
  if (const auto& look = config::typeOf(config.store).access) facts.files.access = look(config.store);
  facts.store = probe(config, {.writes = arguments.write});
  facts.store.server = askServer(config.store);
  facts.limits = limitsOf(tree, files, !config.httpListen.empty());
  facts.versions = versionsHere();
  readMachine(tree, facts.clock);
  facts.clock.kernel = readKernelClock();
  waitUntil(begun.at, clockSpan);
  compareClocks(begun, markClocks(), facts.clock);
  return facts;
}

int execute(const DoctorArguments& arguments) {
  const auto config = loadOrComplain(arguments.config);
  if (!config) return exitUsage;
  const Facts facts = gather(arguments, *config);
  const Report report = judge(facts);
  if (!say(arguments.json ? toJson(facts, report) : toText(facts, report, stdoutHasColours()))) return exitFailed;
  return report.worst() == Grade::fault ? exitFaults : exitOk;
}

}  // namespace

Command doctorCommand() {
  const auto declare = [](Options& options, DoctorArguments& to) {
    options.groupFile(to.config)
        .flag("--write", to.write,
              "make the store ready, as tenure check --connect does, and measure writes: renewals of the lease "
              "\"tenure-doctor\", which is removed afterwards. Its counter stays.")
        .flag("--json", to.json, "one JSON object on one line, with stable keys");
  };
  return {
      .name = "doctor",
      .summary = "check this machine for what would disturb an election",
      .about =
          R"(Checks the clocks, the store and its speed, the files and their permissions, the limits and the versions, as this
user, on this machine. Each finding is ok, a warning or a fault, with what to do. It takes some seconds.

Nothing is written, unless --write is given.)",
      .exits = {{"0", "nothing worse than a warning"}, {"87", "a fault was found, or the store cannot be reached"}},
      .examples = {"tenure doctor --config group.yaml --write",
                   "tenure doctor --config group.yaml --json | jq '.findings[] | select(.do)'"},
      .options = optionsOf<DoctorArguments>(declare, execute),
  };
}

}  // namespace tenure::cli
