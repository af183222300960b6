#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include <tenure/jobs/singleton_scheduler.hpp>

#include "election/src/elector_impl.hpp"
#include "job_faults.hpp"
#include "lockcore/driver/candidate_context.hpp"
#include "term_jobs.hpp"
#include "wall_clock.hpp"

namespace tenure {
namespace {

OptionFaults faultsOf(const Group& group, const std::vector<ScheduledJob>& jobs) {
  OptionFaults faults;
  if (!group.options().shards.shardNames().empty())
    faults.push_back({"shards", "group " + group.name() + " has shards; give the jobs a group with one lease"});
  if (jobs.empty()) faults.push_back({"jobs", "there is none; give at least one"});
  for (OptionFault& fault : faultsOfCount(jobs.size())) faults.push_back(std::move(fault));
  std::set<std::string> names;
  for (const ScheduledJob& job : jobs) {
    const std::string field = "jobs." + job.name + ".";
    for (OptionFault& fault : faultsOfJob(job.name, job.policy, field)) faults.push_back(std::move(fault));
    for (const OptionFault& fault : faultsOfOverlap(job.overlap, job.policy))
      faults.push_back({field + fault.field, fault.message});
    if (!job.work) faults.push_back({field + "work", "is missing; give a function"});
    if (!names.insert(job.name).second) faults.push_back({field + "name", "is the name of two jobs"});
  }
  return faults;
}

}  // namespace

/// The jobs of the present term.
class JobTerms {
 public:
  explicit JobTerms(JobsContext context) : context_{std::make_shared<const JobsContext>(std::move(context))} {}
  ~JobTerms() { context_->link->close(); }
  JobTerms(const JobTerms&) = delete;
  JobTerms& operator=(const JobTerms&) = delete;

  void begin(const Leadership& term) {
    auto jobs = TermJobs::begin(context_, term);
    const std::lock_guard lock{mutex_};
    jobs_ = std::move(jobs);
  }
  void end() {
    if (const auto jobs = now()) {
      jobs->stop();
      jobs->awaitEnd();
    }
    const std::lock_guard lock{mutex_};
    jobs_.reset();
  }
  [[nodiscard]] std::shared_ptr<TermJobs> now() const {
    const std::lock_guard lock{mutex_};
    return jobs_;
  }
  void abandon(const Patience& patience) {
    if (const auto jobs = now()) jobs->abandon(patience);
  }
  /// The calling thread is inside the work of a run.
  [[nodiscard]] bool isInsideWork() const {
    const auto jobs = now();
    return jobs && jobs->isInsideWork();
  }
  [[nodiscard]] const JobsContext& context() const { return *context_; }

 private:
  const std::shared_ptr<const JobsContext> context_;
  mutable std::mutex mutex_;  ///< guards jobs_
  std::shared_ptr<TermJobs> jobs_{};
};

namespace {

std::chrono::nanoseconds lookEvery(const LeaseOptions& lease) {
  constexpr std::chrono::nanoseconds longest = std::chrono::seconds{1};
  if (!lease.progressTimeout) return longest;
  return std::min(longest, std::chrono::nanoseconds{*lease.progressTimeout} / 3);
}

std::shared_ptr<JobTerms> termsOf(const Group& group, std::vector<ScheduledJob> jobs, WallClock wallClock,
                                  const Runtime& runtime) {
  if (OptionFaults faults = faultsOf(group, jobs); !faults.empty()) throw_exception_from_error(faults, {});
  const auto parts =
      CandidateContext::make(group.store(), runtime.scheduler, group.logger(), {}, runtime.executor, group.name());
  return std::make_shared<JobTerms>(JobsContext{
      std::move(jobs), orSystemClock(std::move(wallClock)), std::make_shared<SchedulerLink>(runtime.scheduler),
      parts->clock, lookEvery(group.options().lease), group.options().lease.duration,
      [parts, lease = group.options().lease.duration] { return parts->whyNothingRuns(lease); }, parts->executor,
      parts->stopTokens,
      [logger = group.logger(), prefix = toString(group.key()) + ": "](LogLevel level, const std::string& line) {
        logger.log(level, prefix + line);
      }});
}

Listener listenerOf(const std::shared_ptr<JobTerms>& terms) {
  Listener listener;
  listener.onElected = [terms](const Leadership& term) { terms->begin(term); };
  listener.onRevoked = [terms](const TermEnd&) { terms->end(); };
  return listener;
}

/// Work runs on threads that the elector does not know, and nothing may wait there either.
ElectorPart partOf(const std::shared_ptr<JobTerms>& terms) {
  return {.isInside = [weak = std::weak_ptr{terms}] {
    const auto own = weak.lock();
    return own && own->isInsideWork();
  }};
}

Runtime withScheduler(Runtime runtime) {
  if (!runtime.scheduler) runtime.scheduler = sharedScheduler();
  return runtime;
}

}  // namespace

class SingletonScheduler::Impl {
 public:
  Impl(Group group, std::vector<ScheduledJob> jobs, Options options, Runtime runtime)
      : timing_{group.timing()},
        terms_{termsOf(group, std::move(jobs), std::move(options.wallClock), runtime)},
        elector_{ElectorImpl::make(std::move(group), listenerOf(terms_), std::move(runtime), partOf(terms_))} {}

  void abandon() {
    const Patience patience = patienceOfStop(timing_);
    terms_->abandon(patience);
    elector_->abandon(patience);
  }
  [[nodiscard]] ElectorImpl& elector() { return *elector_; }
  [[nodiscard]] bool isHere() const noexcept { return elector_->isHere(); }

  [[nodiscard]] SchedulerStatus status() const {
    SchedulerStatus out{isHere() ? elector_->status() : elector_->statusWithoutLease(), {}};
    const JobsContext& context = terms_->context();
    const auto wall = context.wallClock();
    for (const ScheduledJob& job : context.jobs) out.jobs.push_back({job.name, job.schedule.after(wall)});
    if (!isHere()) return out;
    if (const auto jobs = terms_->now()) jobs->addTo(out.jobs);
    return out;
  }

 private:
  const LeaseTiming timing_;
  const std::shared_ptr<JobTerms> terms_;
  const std::shared_ptr<ElectorImpl> elector_;
};

SingletonScheduler::SingletonScheduler(Group group, std::vector<ScheduledJob> jobs, Options options, Runtime runtime)
    : impl_{std::make_shared<Impl>(std::move(group), std::move(jobs), std::move(options),
                                   withScheduler(std::move(runtime)))} {}
SingletonScheduler::SingletonScheduler(Group group, std::vector<ScheduledJob> jobs)
    : SingletonScheduler{std::move(group), std::move(jobs), Options{}} {}

SingletonScheduler::~SingletonScheduler() {
  if (!impl_) return;
  impl_->isHere() ? impl_->abandon() : leaveToParent(std::move(impl_));
}
SingletonScheduler::SingletonScheduler(SingletonScheduler&&) noexcept = default;
SingletonScheduler& SingletonScheduler::operator=(SingletonScheduler&& other) noexcept {
  SingletonScheduler gone{std::move(other)};  // swapped, so that a move to itself changes nothing
  impl_.swap(gone.impl_);
  return *this;
}

void SingletonScheduler::start() {
  if (auto* own = inItsProcess(impl_)) own->elector().start();
}

void SingletonScheduler::stepDown(std::string why, std::string successor) {
  if (auto* own = inItsProcess(impl_)) own->elector().stepDown(std::move(why), std::move(successor));
}

void SingletonScheduler::requestStop(std::function<void(ReleaseResult)> done) {
  if (auto* own = inItsProcess(impl_)) return own->elector().requestStop(std::move(done));
  if (done) done(ReleaseResult::notHeld);
}

ReleaseResult SingletonScheduler::stop() {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->elector().stop() : ReleaseResult::notHeld;
}

SchedulerStatus SingletonScheduler::status() const { return impl_->status(); }

}  // namespace tenure
