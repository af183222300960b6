// A supervisor without an elector. It runs a job with deadlines from its command line, as `tenure run` does with a
// lease.
//   guard_rig LEADS_MS VALID_MS DRAIN_MS RENEW_MS COMMAND [ARGS...]      RENEW_MS 0: the term is never renewed
// Prints `guard <pid>`, `job <pid>`, `deadline <CLOCK_MONOTONIC ns when the job must be gone>` at each renewal, and at
// the end `end <exit code as a shell reports it>`. It is its own guard program. With SLOW_ENVIRONMENT in its own the
// first environment of a process that is asked for comes after 1.5 s.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <thread>

#include "cli/process/wakeups.hpp"
#include "cli/run/guard.hpp"
#include "cli/run/guard_protocol.hpp"
#include "cli/run/job_run.hpp"

namespace {

using namespace tenure;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

struct Plan {
  milliseconds leads, valid, drain, renew;
};

class Rig {
 public:
  Rig(const Plan& plan, cli::JobSpec spec, const cli::SignalState& signals) : plan_{plan} {
    publish(readClock());
    run_.emplace(std::move(spec), plan.drain, channel_, guard_, signals, Logger::toStderr(LogLevel::info));
    std::printf("guard %d\njob %d\n", guard_.id(), run_->id());
    std::fflush(stdout);
  }

  int run() {
    while (!run_->isOver()) {
      wait();
      const Instant now = readClock();
      if (plan_.renew.count() > 0 && elapsedForHolder(published_, now) >= plan_.renew) publish(now);
      run_->act(now);
    }
    std::printf("end %d\n", run_->status()->shellCode());
    return 0;
  }

 private:
  void publish(const Instant& now) {
    published_ = now;
    channel_.publish({now, plan_.leads, plan_.valid, FencingToken{1}});
    std::printf("deadline %lld\n", static_cast<long long>((now.monotonic + plan_.valid).count()));
    std::fflush(stdout);
  }

  void wait() {
    const Instant now = readClock();
    std::optional<nanoseconds> left = run_->untilWake(now);
    if (plan_.renew.count() > 0) left = cli::earlier(left, plan_.renew - elapsedForHolder(published_, now));
    timer_.arm(left);
    std::vector<pollfd> entries = run_->descriptors();
    entries.push_back({guard_.control(), POLLIN, 0});
    entries.push_back({guard_.pidfd(), POLLIN, 0});
    entries.push_back({timer_.descriptor(), POLLIN, 0});
    poll(entries.data(), entries.size(), -1);
    timer_.drain();
    guard_.takeAnswers();
    if (cli::hasEnded(guard_.pidfd())) replaceGuard();
  }

  void replaceGuard() {
    std::string why;
    if (!guard_.replace(why)) return run_->stop(why);
    std::printf("guard %d\n", guard_.id());
    std::fflush(stdout);
  }

  Plan plan_;
  Instant published_;
  cli::GuardChannel channel_{cli::GuardChannel::create()};
  cli::GuardKeeper guard_{channel_};
  cli::WakeTimer timer_;
  std::optional<cli::JobRun> run_;
};

}  // namespace

// --wrap dictates the names.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier,cert-dcl50-cpp,concurrency-mt-unsafe)
extern "C" int __real_openat(int directory, const char* path, int flags, mode_t mode);
extern "C" int __wrap_openat(int directory, const char* path, int flags, mode_t mode) {
  static bool isSlow = std::getenv("SLOW_ENVIRONMENT") != nullptr;
  const bool waits = isSlow && std::string_view{path}.ends_with("/environ");
  if (waits) std::this_thread::sleep_for(milliseconds{1500});  // as the kernel does while that process is executed
  if (waits) isSlow = false;
  return __real_openat(directory, path, flags, mode);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier,cert-dcl50-cpp,concurrency-mt-unsafe)

int main(int argc, char** argv) {
  if (argc == 6 && std::strcmp(argv[1], cli::guardSubcommand) == 0) {
    return cli::runGuard({std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5])});
  }
  const auto millis = [argv](int at) { return milliseconds{std::atoi(argv[at])}; };
  const cli::SignalState signals = cli::SignalState::takeOver();
  cli::ignoreClosedPipes();
  cli::JobSpec spec;
  spec.command.assign(argv + 5, argv + argc);
  return Rig{{millis(1), millis(2), millis(3), millis(4)}, std::move(spec), signals}.run();
}
