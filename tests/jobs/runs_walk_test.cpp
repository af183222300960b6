// Random walks of clocks, crashes and terms. A second ledger without bounds, a plain map, counts what really started.
#include <map>

#include <gtest/gtest.h>

#include "election/jobs/src/jobs_document.hpp"
#include "job_times.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::sys_seconds;

/// What became of one period.
struct Counted {
  unsigned noted{0};    // begins that got into the record
  unsigned started{0};  // of these, the job started
  unsigned succeeded{0};
  bool replaced{false};  // a later begin took its place before it succeeded
};

struct WalkOptions {
  const char* name;
  Schedule schedule;
  seconds period;
  JobPolicy policy;
  bool clocksStep{true};
};

/// Three candidates, one of which leads. The record of the lease is a text, as it is in a store.
class Walk {
 public:
  Walk(const WalkOptions& options, std::uint64_t seed) : options_{options}, random_{seed} {}

  void step() {
    trueTime_ += seconds{random_.below(static_cast<std::uint64_t>(options_.period.count() * 2 / 3))};
    if (options_.clocksStep && random_.chance(0.03)) setAClock();
    if (random_.chance(0.05)) fail();
    if (running_ && random_.chance(0.6)) end();
    act();
  }

  void finish() {
    for (int i = 0; i < 100 && (running_ || std::holds_alternative<BeginRun>(decision())); ++i) {
      if (running_) end();
      act();
    }
  }

  [[nodiscard]] const std::map<sys_seconds, Counted>& counted() const { return counted_; }
  [[nodiscard]] bool reachedTheBound() const { return reachedTheBound_; }
  /// How often a period was refused that was not begun.
  [[nodiscard]] unsigned blocked() const { return blocked_; }
  [[nodiscard]] JobRuns ledger() const {
    const auto document = jobsDocumentFrom(record_);
    if (!document) {
      ADD_FAILURE() << document.error().message;
      return {};
    }
    return document->jobs.contains("job") ? document->jobs.at("job") : JobRuns{};
  }

 private:
  /// By an hour, or by a year, or both; and back.
  void setAClock() {
    static const std::array<seconds, 8> steps{seconds{0}, hours{1},      -hours{1},  days{365},
                                              -days{365}, days{365 * 2}, days{-730}, days{365} + hours{1}};
    offsets_[random_.below(offsets_.size())] = steps[random_.below(steps.size())];
  }

  /// A crash or a loss of leadership. The next leader finds the record as it is.
  void fail() {
    leader_ = random_.below(offsets_.size());
    token_ = token_.next();
    running_.reset();
  }

  [[nodiscard]] sys_seconds clock() const { return trueTime_ + offsets_[leader_]; }
  [[nodiscard]] JobDecision decision() const {
    return ledger().decide(clock(), options_.schedule, options_.policy, token_);
  }

  /// Whether the write got into the record. If not, or if the leader does not learn of it, that ends the term.
  bool write(const JobRuns& runs) {
    const bool arrives = !random_.chance(0.03);
    if (arrives) {
      JobsDocument document;
      document.jobs.emplace("job", runs);
      record_ = textOf(document);
      EXPECT_LE(record_.size(), 4096U);
      EXPECT_EQ(ledger(), runs);
      reachedTheBound_ = reachedTheBound_ || runs.history().begun.size() == JobRuns::mostSpans;
    }
    return arrives;
  }

  void act() {
    const JobDecision decided = decision();
    if (running_) {
      EXPECT_EQ(decided, JobDecision{RunIsOpen{}});
      return;
    }
    EXPECT_FALSE(std::holds_alternative<RunIsOpen>(decided)) << "nothing runs in this term";
    judge(decided);
    if (const auto* run = std::get_if<BeginRun>(&decided)) begin(*run);
    if (const auto* wait = std::get_if<WaitUntil>(&decided)) {
      EXPECT_EQ(wait->time, options_.schedule.after(clock()));
    }
  }

  /// The current period must begin if the policy says so, unless it is in a gap that the bound allows to close.
  void judge(const JobDecision& decided) {
    const sys_seconds current = options_.schedule.latestAt(clock());
    const auto* run = std::get_if<BeginRun>(&decided);
    if (run != nullptr) {
      EXPECT_EQ(run->attempt, counted_[run->period].noted + 1) << textOf(run->period);
    }
    const bool late = options_.policy.missed == Missed::skip && clock() - current > options_.policy.lateBy;
    if (run != nullptr || late || counted_[current].noted > 0) return;
    EXPECT_TRUE(isInAShortGap(current)) << "a period that was not begun is blocked: " << textOf(current);
    EXPECT_TRUE(reachedTheBound_);
    ++blocked_;
  }

  [[nodiscard]] bool isInAShortGap(sys_seconds period) const {
    std::optional<sys_seconds> before, after;
    for (const auto& [other, count] : counted_) {
      if (count.noted == 0) continue;
      if (other < period) before = other;
      if (other > period && !after) after = other;
    }
    return before && after && *after - *before <= days{180};
  }

  void begin(const BeginRun& run) {
    JobRuns runs = ledger();
    ASSERT_TRUE(runs.begin(run, {token_, "host", clock()}, options_.schedule));
    const auto open = ledger().history().open;
    if (!write(runs)) return fail();
    if (open && open->period != run.period) counted_[open->period].replaced = true;
    Counted& count = counted_[run.period];
    ++count.noted;
    if (random_.chance(0.03)) return fail();  // before the job has started
    ++count.started;
    running_ = run.period;
    const bool once = options_.policy.guarantee == Guarantee::atMostOnce;
    EXPECT_LE(count.started, once ? 1U : options_.policy.mostAttempts) << textOf(run.period);
    EXPECT_EQ(count.succeeded, 0U) << "a success is repeated: " << textOf(run.period);
  }

  void end() {
    JobRuns runs = ledger();
    const auto outcome = random_.chance(0.7) ? RunOutcome::succeeded : RunOutcome::failed;
    ASSERT_TRUE(runs.end({token_, outcome, 0, std::chrono::milliseconds{5}}));
    if (!write(runs)) return fail();
    if (outcome == RunOutcome::succeeded) ++counted_[*running_].succeeded;
    running_.reset();
  }

  const WalkOptions& options_;
  SeededRandom random_;
  sys_seconds trueTime_ = instant("2026-03-20T00:00Z");
  std::array<seconds, 3> offsets_{};
  std::size_t leader_{0};
  FencingToken token_{1};
  std::string record_ = textOf(JobsDocument{});
  std::optional<sys_seconds> running_;
  std::map<sys_seconds, Counted> counted_;
  bool reachedTheBound_{false};
  unsigned blocked_{0};
};

std::vector<WalkOptions> walks() {
  std::vector<WalkOptions> out;
  const auto add = [&](const char* name, const Schedule& schedule, seconds period) {
    for (const Guarantee guarantee : {Guarantee::atMostOnce, Guarantee::atLeastOnce}) {
      for (const Missed missed : {Missed::skip, Missed::once, Missed::all})
        out.push_back(
            {name,
             schedule,
             period,
             {.guarantee = guarantee, .missed = missed, .lateBy = period / 3, .mostMissed = 5, .mostAttempts = 3}});
    }
  };
  add("hourly", Schedule::every(hours{1}).value(), hours{1});
  add("twice a minute", Schedule::every(seconds{30}).value(), seconds{30});
  add("nightly", Schedule::cron("30 2 * * *", "Europe/Berlin").value(), hours{24});
  add("in real time", Schedule::cron("*/20 * * * *", "Australia/Lord_Howe").value(), std::chrono::minutes{20});
  return out;
}

/// Every period that was noted ended in one of the ways that its guarantee allows.
void expectEachAsPromised(const Walk& walk, const WalkOptions& options) {
  const auto open = walk.ledger().history().open;
  for (const auto& [period, count] : walk.counted()) {
    if (count.noted == 0) continue;
    if (options.policy.guarantee == Guarantee::atMostOnce) {
      EXPECT_EQ(count.noted, 1U) << textOf(period);
      continue;
    }
    const bool isOpen = open && open->period == period;
    const bool mayBeReplaced = options.policy.missed != Missed::all && count.replaced;
    EXPECT_TRUE(count.succeeded == 1 || count.noted == options.policy.mostAttempts || mayBeReplaced || isOpen)
        << textOf(period) << " was begun " << count.noted << " times and never succeeded";
  }
}

/// Clocks that are set all the time, as here, cost some periods; this many of those that were looked at.
constexpr double mostBlocked = 0.15;

TEST(RunsWalk, EachPeriodRunsAsOftenAsItsGuaranteeSays) {
  bool reachedTheBound = false;
  double looked = 0;
  double blocked = 0;
  for (const WalkOptions& options : walks()) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(options.name + std::string{", missed "} + std::to_string(static_cast<int>(options.policy.missed)) +
                   ", guarantee " + std::to_string(static_cast<int>(options.policy.guarantee)) + ", seed " +
                   std::to_string(seed));
      Walk walk{options, seed};
      for (int i = 0; i < 1500 && !testing::Test::HasFailure(); ++i) walk.step();
      walk.finish();
      expectEachAsPromised(walk, options);
      EXPECT_GT(walk.counted().size(), 100U);
      looked += static_cast<double>(walk.counted().size());
      blocked += walk.blocked();
      reachedTheBound = reachedTheBound || walk.reachedTheBound();
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_TRUE(reachedTheBound) << "the walks never have so many gaps that one must be closed";
  EXPECT_LT(blocked, looked * mostBlocked);
}

TEST(RunsWalk, WithSaneClocksAllMeansEveryPeriod) {
  for (WalkOptions options : walks()) {
    if (options.policy.missed != Missed::all) continue;
    options.policy.mostMissed = 1000;
    options.clocksStep = false;
    SCOPED_TRACE(options.name);
    Walk walk{options, 5};
    for (int i = 0; i < 1000 && !testing::Test::HasFailure(); ++i) walk.step();
    walk.finish();
    const auto& counted = walk.counted();
    ASSERT_FALSE(counted.empty());
    std::size_t occurrences = 1;
    for (sys_seconds at = counted.begin()->first; at < counted.rbegin()->first; at = options.schedule.after(at)) {
      ++occurrences;
      EXPECT_TRUE(counted.contains(at) && counted.at(at).noted > 0) << textOf(at);
    }
    EXPECT_EQ(occurrences, counted.size());
    EXPECT_EQ(walk.ledger().history().begun.size(), 1U);
  }
}

}  // namespace
}  // namespace tenure::test
