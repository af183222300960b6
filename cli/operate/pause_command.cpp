// `tenure pause`: takes the group's own lease as an operator's lock token, so that nobody is elected.
#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenure/election/listener.hpp>
#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lock_tokens.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/group/config_file.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "cli/text/pause_text.hpp"
#include "config/src/duration.hpp"
#include "config/src/store_types.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds pauseLookPeriod{200};
/// How long the answer to our own acquisition may take once the record shows a pause.
constexpr milliseconds answerTime{1'000};

/// Two things go on at the same time. A lock token waits for the lease on a thread of its own, so that it gets the
/// lease as soon as it is free, and also from a leader that has died. Here each leader is asked to step down, because
/// other candidates compete for the lease as well and one of them may be quicker.

struct PauseArguments {
  std::string config;
  std::chrono::milliseconds length{0};
  std::string why;
  std::chrono::milliseconds wait{60'000};
};

class PauseTaker {
 public:
  PauseTaker(const PauseArguments& arguments, LeaseOfGroup lease, Pause pause)
      : arguments_{arguments}, lease_{std::move(lease)}, name_{toString(lease_.key)}, pause_{std::move(pause)} {}

  /// The exit code.
  [[nodiscard]] int run() {
    const StoreStatus ready = ensureSchemaNow(*lease_.store, std::min<milliseconds>(arguments_.wait, schemaPatience));
    if (!ready) return complain(faultText(*lease_.store, ready.error())), exitStore;
    for (;;) {
      if (const auto code = look()) return *code;
      if (!token_.valid()) acquireInBackground();
      const milliseconds over = left() + unansweredTime;
      if (token_.wait_for(std::clamp(over, milliseconds{0}, pauseLookPeriod)) == std::future_status::ready)
        return answered();
      if (over <= milliseconds{0}) return unanswered();
    }
  }

  /// The thread may still wait for the lease, and must not get it once this command has said what became of it.
  [[nodiscard]] bool isWaiting() const {
    return token_.valid() && token_.wait_for(milliseconds{0}) != std::future_status::ready;
  }

 private:
  [[nodiscard]] milliseconds left() const {
    return arguments_.wait - std::chrono::floor<milliseconds>(elapsedForHolder(began_, readClock()));
  }

  void acquireInBackground() {
    TokenAcquireOptions options;
    options.lease = arguments_.length;
    options.waitFor = std::max(left(), milliseconds{1});
    options.owner = pauseOwner(pause_);
    options.poll = std::min(pauseLookPeriod, arguments_.length);
    std::promise<LockResult<LockToken>> promise;
    token_ = promise.get_future();
    std::thread{[store = lease_.store, key = lease_.key, options, promise = std::move(promise)]() mutable {
      // The store is let go of before the answer: closing it here could go on while the process ends.
      LockResult<LockToken> token = LockTokens{std::move(store)}.acquire(key, options);
      promise.set_value(std::move(token));
    }}.detach();
  }

  /// Does what the record asks for. Returns the exit code if that is the end.
  [[nodiscard]] std::optional<int> look() {
    const ReadOutcome record = readNow(*lease_.store, lease_.key, lookPatience(left()));
    if (!record || !isHeld(*record)) return std::nullopt;  // the token's own look says what is wrong
    const LeaseRecord& holder = **record;
    if (const auto pause = pauseOf(*record)) {
      if (token_.valid() && token_.wait_for(answerTime) == std::future_status::ready) return std::nullopt;
      return extend(holder.holder, *pause);
    }
    leader_ = holder;
    if (holder.token.isNone()) {
      complain(personOf(holder.holder) + " leads " + name_ +
               " without a fencing token, so it is of another client, which cannot be asked to step down; stop its "
               "process, and pause then");
      return exitFailed;
    }
    if (std::find(asked_.begin(), asked_.end(), holder.token) == asked_.end()) ask(holder);
    return std::nullopt;
  }

  /// An error is reported; the next look asks again.
  void ask(const LeaseRecord& leader) {
    const WriteOutcome outcome = requestStepDownNow(*lease_.store, lease_.key, {leader.token}, lookPatience(left()));
    const StoreError* error = nullptr;
    if (const auto* rejected = std::get_if<Rejected>(&outcome)) error = &rejected->error;
    if (const auto* unknown = std::get_if<Unknown>(&outcome)) error = &unknown->error;
    if (error == nullptr) {
      asked_.push_back(leader.token);
      return complain(personOf(leader.holder) + ", who leads " + name_ + ", is asked to step down");
    }
    if (std::exchange(error_, error->message) != error->message) complain(faultText(*lease_.store, *error));
  }

  /// The pause that is there gets this length from now on. Empty: it has ended meanwhile.
  [[nodiscard]] std::optional<int> extend(const std::string& owner, const Pause& pause) {
    // Nobody works under a pause.
    const TokenRenewOptions options{
        .lease = arguments_.length, .budget = std::max(left(), pauseLookPeriod), .anyHistory = true};
    const auto token = LockTokens{lease_.store}.resume(lease_.key, owner, options);
    if (token) {
      return told(name_ + " was paused already, " + toString(pause) + "; this pause now lasts " +
                  durationText(arguments_.length) + " from now, and keeps its reason");
    }
    const LockErrc code = token.error().code;
    const bool ended = code == LockErrc::notHeld || code == LockErrc::lost || code == LockErrc::superseded;
    if (ended && left() > milliseconds{0}) return std::nullopt;
    complain(token.error().message);
    return exitCodeOf(token.error());
  }

  [[nodiscard]] int told(const std::string& line) const {
    return say(line + "; to end it: tenure resume --config " + arguments_.config + '\n') ? exitOk : exitFailed;
  }

  [[nodiscard]] int answered() {
    const LockResult<LockToken> token = token_.get();
    if (token) return told(name_ + " is " + toString(pause_) + ", for " + durationText(arguments_.length));
    const LockErrc code = token.error().code;
    if (code == LockErrc::unknown) return unanswered();
    if (code != LockErrc::timeout && code != LockErrc::held) {
      complain(name_ + " is not paused: " + token.error().message);
      return exitCodeOf(token.error());
    }
    // Somebody else may have paused it just before the time was over.
    if (const auto end = look()) return *end;
    complain(name_ + " is not paused after " + durationText(arguments_.wait) + ": " + whyNot(token.error()));
    return exitNotYet;
  }

  [[nodiscard]] std::string whyNot(const LockError& error) const {
    if (asked_.empty()) return error.message;
    return personOf(leader_.holder) +
           " was asked to step down and has not done so yet; it may still do so, and another "
           "candidate then leads; see tenure status";
  }

  [[nodiscard]] int unanswered() const {
    complain(
        "it is not known whether " + name_ +
        " is paused, because the store has not answered in time; see tenure status. If it is, tenure resume ends it");
    return exitUnknown;
  }

  const PauseArguments& arguments_;
  const LeaseOfGroup lease_;
  const std::string name_;
  const Pause pause_;
  const Instant began_{readClock()};
  std::future<LockResult<LockToken>> token_{};
  std::vector<FencingToken> asked_{};
  LeaseRecord leader_{};  ///< as last seen
  std::string error_{};
};

int execute(const PauseArguments& arguments) {
  const Pause pause{whoPauses(), arguments.why};
  if (const std::string fault = faultOf(pause); !fault.empty()) return refuse(fault, "pause");
  const auto config = loadUnshardedOrComplain(arguments.config);
  if (!config) return exitUsage;
  if (const auto& store = config::typeOf(config->store); store.ofOneProcess) {
    complain(arguments.config + ": store.type " + store.name +
             " is seen by one process only, so a pause from here would have no effect. Nothing was done");
    return exitUsage;
  }
  PauseTaker taker{arguments, leaseOf(*config), pause};
  const int code = taker.run();
  // A write that is taken back may still use the store, on a thread of its own.
  if (code == exitUnknown || taker.isWaiting()) exitAtOnce(code);
  return code;
}

}  // namespace

Command pauseCommand() {
  const auto declare = [](Options& options, PauseArguments& to) {
    const auto takeLength = [&to](const std::string& text) -> std::string {
      const auto length = parseDuration(text);
      if (!length) return length.error().message;
      to.length = *length;
      const bool fits = to.length >= std::chrono::seconds{1} && to.length <= std::chrono::hours{24};
      return fits ? "" : "must be 1s to 24h; run the command again to make it longer";
    };
    options.groupFile(to.config)
        .value("--for DURATION", takeLength, "how long, from now on: 1s to 24h")
        .required()
        .text("--why TEXT", to.why, "for those who ask why no copy leads; every status shows it")
        .required()
        .duration("--wait DURATION", to.wait,
                  "how long to try (default 1m): while the work ends, and while other candidates take the lease in "
                  "between");
  };
  return {
      .name = "pause",
      .summary = "keep all copies from leading for some time",
      .about =
          R"(Takes the group's lease for an operator, so that no copy is elected. The leader is asked to step down first, as by
tenure resign, and its work ends in order. If the group is paused already, that pause gets this length, and keeps its
reason and author.

tenure resume ends the pause at once. Without it, a candidate takes over once it has watched the whole pause by its own
clock, so a candidate that was started later takes over later.)",
      .exits = {{"0", "paused"},
                {"1", "failed"},
                {"83", "the store cannot be reached"},
                {"85", "not paused in time; a leader that was asked may still step down"},
                {"86", "timed out while a write was not answered: see tenure status"}},
      .examples = {R"(tenure pause --config group.yaml --for 2h --why "new disks in db1")"},
      .options = optionsOf<PauseArguments>(declare, execute),
      .holds = true,
  };
}

}  // namespace tenure::cli
