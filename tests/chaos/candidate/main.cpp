// A candidate of the chaos tests: competes for the lease of a group's file and does careless work while it leads.
//
//   tenure-chaos-candidate GROUP.yaml DIRECTORY NAME EVENTS rows|set STEP_MS
//
// It stops properly at SIGTERM. SIGUSR1 and SIGALRM interrupt its system calls and do nothing else. With
// TENURE_CHAOS_TIMER_US it sends itself SIGALRM at this interval.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <thread>

#include <fmt/core.h>

#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>

#include "event_log.hpp"
#include "jobs.hpp"

namespace {

using namespace tenure;
using namespace tenure::chaos;
using namespace std::chrono_literals;

void noHandler(int) {}

/// Without SA_RESTART: a system call that a signal interrupts returns with EINTR.
void interruptibleBy(int number) {
  struct sigaction action {};
  action.sa_handler = noHandler;
  sigaction(number, &action, nullptr);
}

void startTimer() {
  const char* micros = std::getenv("TENURE_CHAOS_TIMER_US");
  if (micros == nullptr) return;
  const itimerval timer{{0, std::atol(micros)}, {0, std::atol(micros)}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

std::string tokenOf(FencingToken token) { return fmt::format(",\"token\":{}", token.value()); }

void tellNewError(const LeaderElector& elector, std::string& last, const EventLog& events) {
  const auto error = elector.status().lease.lastError;
  if (!error || error->message == last) return;
  last = error->message;
  events.tell("store_error", ",\"message\":" + jsonQuoted(last));
}

/// Claims leadership for as long as isLeader() says so. A claim is true at some instant between "t" and "u": a process
/// that is frozen in between does not claim the time of the freeze.
void claim(const std::stop_token& stop, const LeaderElector& elector, const EventLog& events) {
  std::string lastError;
  for (int n = 0; !stop.stop_requested(); ++n) {
    const std::int64_t before = trueBoottimeNs();
    if (const auto token = elector.fencingToken()) {
      events.tellAt(before, "led", fmt::format("{},\"u\":{}", tokenOf(*token), trueBoottimeNs()));
    }
    if (n % 20 == 0) tellNewError(elector, lastError, events);
    std::this_thread::sleep_for(5ms);  // lint-allow(sleep): it samples
  }
}

Listener listenerOf(Job& job, const EventLog& events) {
  return {.onElected =
              [&](const Leadership& term) {
                events.tell("elected", tokenOf(term.fencingToken()));
                job.run(term, events);
              },
          .onRevoked =
              [&](const TermEnd& why) {
                events.tell("revoked", fmt::format("{},\"reason\":\"{}\",\"detail\":{}", tokenOf(why.token),
                                                   toString(why.reason), jsonQuoted(why.detail)));
              },
          .onInDoubt =
              [&](const Doubt& doubt) {
                events.tell("doubt", fmt::format(",\"class\":\"{}\",\"message\":{}", toString(doubt.error.errorClass),
                                                 jsonQuoted(doubt.error.message)));
              },
          .onLeaderChanged =
              [&](const std::optional<LeaderInfo>& leader) {
                if (leader) events.tell("follows", tokenOf(leader->token));
              }};
}

std::unique_ptr<Job> makeJob(const std::string& kind, const JobSettings& settings) {
  if (kind == "rows") return makeRowJob(settings);
  if (kind == "set") return makeSetJob(settings);
  throw std::invalid_argument("no job " + kind);
}

int runCandidate(char** argv) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigprocmask(SIG_BLOCK, &end, nullptr);
  interruptibleBy(SIGUSR1);
  interruptibleBy(SIGALRM);

  const EventLog events{argv[4]};
  const auto job = makeJob(argv[5], {argv[2], argv[3], std::chrono::milliseconds{std::stoi(argv[6])}});
  LeaderElector elector{loadGroup(argv[1]).value(), listenerOf(*job, events)};
  std::jthread claimer{[&](const std::stop_token& stop) { claim(stop, elector, events); }};
  elector.start();
  events.tell("started");
  startTimer();
  int which = 0;
  while (sigwait(&end, &which) != 0) {
  }
  events.tell("stopped", fmt::format(",\"release\":\"{}\"", toString(elector.stop())));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr, "usage: tenure-chaos-candidate GROUP.yaml DIRECTORY NAME EVENTS rows|set STEP_MS\n");
    return 2;
  }
  try {
    return runCandidate(argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenure-chaos-candidate: {}\n", error.what());
    return 1;
  }
}
