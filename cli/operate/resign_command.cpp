#include <chrono>
#include <optional>
#include <poll.h>
#include <string>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_options.hpp>

#include "cli/commands.hpp"
#include "cli/group/config_file.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/process/wakeups.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "cli/text/pause_text.hpp"
#include "config/src/duration.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "operator_lease.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds lookPeriod{200};
constexpr milliseconds shortLook{500};  // in which a store far away may not answer

struct ResignArguments {
  std::string config;
  std::string to;
  std::chrono::milliseconds wait{60'000};
};

std::string takeName(std::string& to, const std::string& text) {
  to = text;
  const auto fault = faultOfCandidateName(text);
  return fault ? inQuotes(text) + ": a candidate's name " + *fault : std::string{};
}

bool leads(const std::optional<LeaseRecord>& record, FencingToken token) {
  return isHeld(record) && record->token == token;
}

int told(const std::string& line) { return say(line + '\n') ? exitOk : exitFailed; }

/// The lease is there for the candidate that was named. It has one heartbeat, and may be dead.
bool waitsFor(const std::string& to, const std::optional<LeaseRecord>& record) {
  return !to.empty() && record && record->released && record->successor.name == to;
}

/// After the leader has stepped down.
int toldOf(const LeaseOfGroup& lease, const std::string& before, const std::optional<LeaseRecord>& record,
           const std::string& to) {
  const bool taken = isHeld(record);
  const std::string text =
      before + " has stepped down" +
      (taken ? "; " + whoHas(toString(lease.key), record->holder, record->token) : "; there is no leader yet");
  if (to.empty() || (taken && nameOf(record->holder) == to)) return told(text);
  complain(text + ", and not " + shown(to) + ": is it running, ready, and a candidate of this group?");
  return exitNotYet;
}

/// Reads the record whenever the store hints at a change, and at intervals in any case.
int waitForSuccessor(const LeaseOfGroup& lease, const LeaseRecord& asked, const ResignArguments& arguments) {
  const std::string name = shown(nameOf(asked.holder), mostOfHolder);
  const milliseconds bound = arguments.wait;
  MainTasks changed;
  WakeTimer timer;
  const std::shared_ptr<void> hints = lease.store->watch(lease.key, [&changed] { changed.post([] {}); });
  const Instant began = readClock();
  bool answers = false;
  for (std::optional<std::optional<LeaseRecord>> last;;) {
    const auto patience = lookPatience(bound - elapsedForHolder(began, readClock()));
    const ReadOutcome record = readNow(*lease.store, lease.key, patience);
    const nanoseconds left = bound - elapsedForHolder(began, readClock());
    const bool over = left.count() <= 0;
    if (record) last = *record;
    answers = record || (answers && patience < shortLook);  // it had no time to
    if (over && !answers) complain(faultText(*lease.store, record.error()));
    if (over && !last) return exitStore;
    if (last && !leads(*last, asked.token) && (over || !waitsFor(arguments.to, *last))) {
      return toldOf(lease, name, *last, arguments.to);
    }
    if (over) {
      complain(name + " was asked, " +
               (answers ? "but had not stepped down after " + durationText(bound) + "; see tenure status"
                        : "and had not stepped down when the store last answered"));
      return exitNotYet;
    }
    timer.arm(std::min<nanoseconds>(left, lookPeriod));
    pollfd entries[] = {{changed.descriptor(), POLLIN, 0}, {timer.descriptor(), POLLIN, 0}};
    poll(entries, std::size(entries), -1);
    timer.drain();
    changed.run();
  }
}

int execute(const ResignArguments& arguments) {
  const auto config = loadUnshardedOrComplain(arguments.config);
  if (!config) return exitUsage;
  const LeaseOfGroup lease = leaseOf(*config);
  const StoreResult<LeaseLook> look = lookNow(*lease.store, lease.key);
  if (!look) return complain(faultText(*lease.store, look.error())), exitStore;
  if (!look->warning.empty()) complain("lease " + toString(lease.key) + ": " + look->warning);
  if (!isHeld(look->record)) return complain("there is no leader of " + toString(lease.key)), exitNobody;
  if (const auto pause = pauseOf(look->record)) {
    complain(toString(lease.key) + " is " + toString(*pause) +
             ". A pause cannot step down; to end it: tenure resume --config " + arguments.config);
    return exitNobody;
  }
  const LeaseRecord& leader = *look->record;
  const std::string name = shown(nameOf(leader.holder), mostOfHolder);
  if (nameOf(leader.holder) == arguments.to) {
    complain(name + " leads " + toString(lease.key) +
             " already. It does not compete for one lease after it has stepped down, so name another candidate with "
             "--to. Nothing was changed");
    return exitUsage;
  }
  Successor successor;
  if (!arguments.to.empty()) {
    successor = {arguments.to, LeaseTiming::from(config->options.lease).value().heartbeat()};
  }
  const nanoseconds patience = arguments.wait.count() == 0 ? nanoseconds{storePatience} : arguments.wait;
  if (const auto code = askToStepDown(lease, leader, patience, successor)) return *code;
  // If this term has just ended, the read that follows shows who leads.
  if (arguments.wait.count() == 0) return told(name + " was asked to step down");
  return waitForSuccessor(lease, leader, arguments);
}

}  // namespace

Command resignCommand() {
  return {
      .name = "resign",
      .summary = "ask the leader to step down, so that another copy takes over",
      .about =
          R"(The leader sees the request at its next heartbeat, ends its work, releases the lease and does not compete for one
lease duration. If no other copy is running, it leads again after that.

With --to the lease is released for the candidate of that name: the others leave it alone for one heartbeat, and then
take it. The store has no list of candidates, so any name is accepted but the leader's own.)",
      .exits = {{"0", "it has stepped down (with --wait 0s: it was asked to); with --to: and that candidate leads"},
                {"1", "the leader is of another client, which cannot be asked"},
                {"83", "the store cannot be reached"},
                {"84", "there is no leader, or the group is paused"},
                {"85",
                 "it had not stepped down in time; it was asked and may still do so. With --to: or that candidate "
                 "does not lead"}},
      .examples = {"tenure resign --config group.yaml --wait 30s", "tenure resign --config group.yaml --to billing-b"},
      .options = optionsOf<ResignArguments>(
          [](Options& options, ResignArguments& to) {
            options.groupFile(to.config)
                .value(
                    "--to NAME", [&to](const std::string& text) { return takeName(to.to, text); },
                    "the candidate.id of the copy that is to lead next")
                .duration("--wait DURATION", to.wait,
                          "how long to wait until the leader has stepped down (default 1m; 0s: only ask)", true);
          },
          execute),
  };
}

}  // namespace tenure::cli
