// `tenure fence recover`: the only command that may lower tokens.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tenure/lockcore/clock.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/group/config_file.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/process/wakeups.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "config/src/duration.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "resources.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds shortestLook{50};
constexpr milliseconds longestLook{1'000};
constexpr int looksInALease = 20;

/// The lease and its guard, because clocks may differ a little.

struct FenceRecoverArguments {
  std::string config;
  std::string lease{};  ///< empty: the group's
  std::uint64_t token{0};
  std::vector<std::string> resources{};  ///< KIND:WHERE
  bool yes{false};
};

nanoseconds timeToWatch(milliseconds lease) { return lease + lease / 500 + milliseconds{2}; }

std::string writerOf(const StoredTokens& now) {
  if (now.hasRecord() && !now.released) return shown(now.holder, mostOfHolder) + " leads, or has just led";
  return "it was changed";
}

/// What the watch saw that was not quiet.
struct Unrest {
  bool moved{false};  ///< false: the store could not be asked
  std::string message;
};

/// The challenger's rule: nobody holds the lease if its stored state has not changed for as long as a lease lasts,
/// counted from after it was first read. Nobody competes either, because a candidate would have taken the lease by
/// then. `seen` is what was read, `lease` the longest lease that somebody may have. Empty: all was quiet. Blocks.
std::optional<Unrest> watchForLife(LeaseStore& store, const LeaseKey& key, const StoredTokens& seen,
                                   milliseconds lease) {
  WakeTimer timer;
  const Instant began = readClock();
  const milliseconds step = std::clamp(lease / looksInALease, shortestLook, longestLook);
  for (;;) {
    const nanoseconds left = timeToWatch(lease) - elapsedForChallenger(began, readClock());
    const auto now = readTokensNow(store, key);
    if (!now) return Unrest{false, faultText(store, now.error())};
    if (*now != seen) return Unrest{true, "lease " + toString(key) + " is in use: " + writerOf(*now)};
    if (left.count() <= 0) return std::nullopt;
    timer.arm(std::min<nanoseconds>(left, step));
    pollfd entry{timer.descriptor(), POLLIN, 0};
    poll(&entry, 1, -1);
    timer.drain();
  }
}

struct Plan {
  LeaseKey key;
  std::shared_ptr<LeaseStore> store;
  FencingToken token;
  milliseconds lease;  ///< the longest that a candidate may have
  StoredTokens found{};
  std::vector<RecoverableResource> resources{};

  /// What fences know the lease by.
  [[nodiscard]] std::string name() const { return key.sortKey.empty() ? key.name : key.name + '/' + key.sortKey; }
  [[nodiscard]] TermStamp memory() const { return {name(), token, recoveredHolder}; }
};

std::string orNone(const std::string& token) { return token.empty() ? "none" : token; }

/// A shard is given as `group/NAME`, which fences know it by, wherever the store keeps its lease.
LeaseKey keyOf(const std::string& lease, const GroupOptions& options, LeaseStore& store) {
  const std::string start = options.group + '/';
  const bool together = !options.shards.shardNames().empty() && extended(store)->keepsGroupsTogether();
  return together && lease.starts_with(start) ? LeaseKey{options.group, lease.substr(start.size())} : LeaseKey{lease};
}

/// Empty: the reason was reported on stderr.
std::optional<Plan> planOf(const FenceRecoverArguments& arguments) {
  const auto config = loadOrComplain(arguments.config);
  if (!config) return std::nullopt;
  if (arguments.lease.empty() && !config->options.shards.shardNames().empty()) {
    complain("the group has shards, each with its own lease; name one: --lease " + config->options.group + '/' +
             config->options.shards.shardNames().front());
    return std::nullopt;
  }
  LeaseOfGroup of = leaseOf(*config);
  if (!arguments.lease.empty()) of.key = keyOf(arguments.lease, config->options, *of.store);
  Plan plan{of.key, of.store, FencingToken{arguments.token}, config->options.lease.duration};
  for (const std::string& word : arguments.resources) {
    auto resource = openResource(word);
    if (!resource) {
      complain(resource.error().message);
      return std::nullopt;
    }
    plan.resources.push_back(*std::move(resource));
  }
  return plan;
}

/// What is stored now and what will be stored. Empty: the reason was reported on stderr.
std::optional<std::string> pictureOf(const Plan& plan) {
  const std::string to = " -> " + toString(plan.token) + '\n';
  std::string text = "lease " + toString(plan.key) + " in " + plan.store->describe() + '\n';
  text += "  counter: " + orNone(plan.found.counter) + to;
  if (plan.found.hasRecord()) {
    text += "  copy in the record: " + orNone(plan.found.copy) + to +
            "  holder: " + shown(plan.found.holder, mostOfHolder) +
            (plan.found.released ? ", which has released it\n" : "; the record is marked as released\n");
  }
  for (const RecoverableResource& resource : plan.resources) {
    if (!resource.memory) {
      text += resource.word + ": to be set by its own tool; what to give to that tool is printed at the end\n";
      continue;
    }
    const auto stored = resource.memory->stored(plan.name());
    if (!stored) return complain(FenceError{stored.error()}.message), std::nullopt;
    text += resource.memory->describe() + ": " + orNone(*stored) + to;
  }
  return text + "The next leader gets fencing token " + toString(plan.token.next()) +
         " (or one above the store's revision, where\nit has one that is higher).\nThis waives invariant I7 "
         "(tokens rise with every term) for this lease and these resources: a former "
         "leader\nwith a token above " +
         toString(plan.token) +
         " that still runs may write again until the next one has written. Resources that are\nnot named here keep "
         "what they remember.\n";
}

/// Only a user that types the lease's name may go on.
bool confirmed(const Plan& plan) {
  tell("Type the lease's name to continue: ");
  std::string answer;
  return std::getline(std::cin, answer) && answer == plan.name();
}

int setStore(const Plan& plan) {
  const WriteOutcome outcome = setTokensNow(*plan.store, plan.key, plan.found, plan.token);
  if (std::holds_alternative<Applied>(outcome)) return exitOk;
  if (std::holds_alternative<Conflict>(outcome)) {
    complain("lease " + toString(plan.key) + " was changed just now; end every candidate, then try again");
    return exitBusy;
  }
  const auto* rejected = std::get_if<Rejected>(&outcome);
  complain(faultText(*plan.store, rejected != nullptr ? rejected->error : std::get<Unknown>(outcome).error));
  if (rejected == nullptr) complain("it is not known whether the counter was set; give the same command again to see");
  return exitStore;
}

int setResources(const Plan& plan) {
  int code = exitOk;
  std::string statements;
  for (const RecoverableResource& resource : plan.resources) {
    if (!resource.memory) {
      statements += statementFor(resource.word, plan.memory());
      continue;
    }
    const auto done = resource.memory->set(plan.memory());
    if (done.has_value()) continue;
    complain(FenceError{done.error()}.message);
    code = exitFailed;
  }
  if (!statements.empty() && !say(statements)) code = exitFailed;
  return code;
}

int recover(Plan& plan) {
  const milliseconds lease = std::max(plan.lease, plan.found.lease);
  complain("watching lease " + toString(plan.key) + " for " + durationText(lease) +
           ", to see whether a candidate is alive");
  if (const auto unrest = watchForLife(*plan.store, plan.key, plan.found, lease)) {
    complain(unrest->message + (unrest->moved ? "; nothing was done. End every candidate first" : ""));
    return unrest->moved ? exitBusy : exitStore;
  }
  if (plan.found.counter.empty() && !plan.found.hasRecord() && plan.resources.empty()) {
    complain("lease " + toString(plan.key) + " has neither a counter nor a record in " + plan.store->describe() +
             ", so nothing was done; check its name with `tenure lock list`, or name the resource (--resource)");
    return exitUsage;
  }
  if (const int code = setStore(plan); code != exitOk) return code;
  if (const int code = setResources(plan); code != exitOk) {
    complain(
        "the counter is set, but not every resource; repair what is reported above and give the same command again");
    return code;
  }
  complain("done; the next leader of " + toString(plan.key) + " gets fencing token " + toString(plan.token.next()) +
           ". Restart candidates that still run: they remember the higher tokens that they have seen");
  return exitOk;
}

int execute(const FenceRecoverArguments& arguments) {
  if (!arguments.yes && isatty(STDIN_FILENO) == 0)
    return refuse("this command asks for confirmation on a terminal; without a terminal give --yes", "fence recover");
  auto plan = planOf(arguments);
  if (!plan) return exitUsage;
  try {
    for (const RecoverableResource& resource : plan->resources) {
      if (!resource.memory) (void)statementFor(resource.word, plan->memory());
    }
  } catch (const std::invalid_argument& fault) {
    return refuse(fault.what(), "fence recover");
  }
  const auto found = readTokensNow(*plan->store, plan->key);
  if (!found) return complain(faultText(*plan->store, found.error())), exitStore;
  plan->found = *found;
  const auto picture = pictureOf(*plan);
  if (!picture) return exitUsage;  // nothing was done
  tell(*picture);
  if (!arguments.yes && !confirmed(*plan)) return complain("nothing was done"), exitUsage;
  return recover(*plan);
}

/// Without zeros in front: a token that is copied from a log may have them, and other readers take that for octal.
std::string takeToken(const std::string& text, std::uint64_t& to) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos && text[0] != '0';
  if (!plain) return "\"" + text + "\" is not a plain number without leading zeros";
  const std::uint64_t last = maxFencingToken.value() - 1;
  const auto number = numberFrom<std::uint64_t>(text);
  if (!number || *number > last) return fmt::format("Value {} not in range 1 to {}", text, last);
  to = *number;
  return {};
}

void declareRecover(Options& options, FenceRecoverArguments& to) {
  options.groupFile(to.config, false)
      .value(
          "--token N", [&to](const std::string& text) { return takeToken(text, to.token); },
          fmt::format("1 to {}", maxFencingToken.value() - 1))
      .required()
      .given("--lease NAME", to.lease, "a lease of that store other than the group's: that of a shard, or a lock",
             "name")
      .values(
          "--resource KIND:WHERE",
          [&to](const std::string& text) { return to.resources.push_back(text), std::string{}; },
          "may be given several times\n"
          "sqlite:FILE, the table tenure_fence_guard in a database\n"
          "file:PATH, PATH.fence of FencedFile\n"
          "proxy:FILE, the memory of tenure fence proxy, which is stopped\n"
          "postgresql:SCHEMA prints statements for psql\n"
          "redis:PREFIX prints a command for redis-cli; the prefix is tenure:fence: unless the program has set "
          "another")
      .flag("--yes", to.yes, "do not ask");
}

}  // namespace

Command fenceRecoverCommand() {
  return {
      .name = "fence recover",
      .summary = "correct fencing tokens after a forged one",
      .about =
          R"(Sets to N: the lease's counter, the copy of it in the lease's record, and the token that each named resource
remembers. The next leader gets N + 1, or a token above the store's revision, where it has one that is higher.
N is the highest token that a leader really had, or any above it: see the logs, or what other resources remember.

End every candidate first. The command watches the lease for as long as a lease lasts, and does nothing if it is held
or if a candidate competes for it, or if a process keeps its liveness file locked. It shows the stored values and the new
ones, says which guarantee is waived, and asks you to type the lease's name.)",
      .exits = {{"0", "done"},
                {"1", "a resource could not be set; the counter is"},
                {"2", "wrong arguments or configuration, or not confirmed"},
                {"82", "a candidate is alive; nothing was done"},
                {"83", "the store cannot be reached, or refused"}},
      .examples = {R"(tenure fence recover --config group.yaml --token 17 \)",
                   "    --resource proxy:/var/lib/tenure/billing-fence.db"},
      .options = optionsOf<FenceRecoverArguments>(declareRecover, execute),
  };
}

}  // namespace tenure::cli
