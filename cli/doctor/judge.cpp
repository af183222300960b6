#include "judge.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "config/src/duration.hpp"
#include "lockcore/runtime/clock_gauge.hpp"

namespace tenure::cli::doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr const char* unknownHere = "this system does not show it";

std::string wholeText(nanoseconds time) {
  return durationText(std::chrono::floor<milliseconds>(time < nanoseconds{0} ? -time : time));
}

/// Whole seconds where milliseconds say nothing.
std::string roughText(nanoseconds time) { return durationText(std::chrono::floor<seconds>(time)); }

void judgeRate(const ClockFacts& clock, Report& report) {
  const std::string says =
      fmt::format("CLOCK_MONOTONIC ran {:.1f} ppm {} than CLOCK_MONOTONIC_RAW for {}", std::abs(clock.ratePpm),
                  clock.ratePpm < 0 ? "slower" : "faster", wholeText(clock.span));
  if (std::abs(clock.ratePpm) <= ClockGauge::coveredPpm) return report.ok("clock.rate", says + ".");
  report.warning("clock.rate",
                 says +
                     ": a time daemon slews this clock. Elections use whichever clock is safe, so a leader's "
                     "validity ends earlier and a standby waits longer.",
                 "Wait until the clock is right (chronyc tracking, timedatectl timesync-status). If it stays so, "
                 "this machine's oscillator is faulty.");
}

/// Two rates that differ by e each way need L (1+e)/(1-e), so g = 2eL / (1+e); a millisecond is for rounding.
double coveredPpm(const LeaseTiming& timing) {
  const double margin = static_cast<double>(std::max<milliseconds::rep>(0, timing.clockMargin().count() - 1));
  const double lease = static_cast<double>(timing.duration().count());
  return margin / (2 * lease - margin) * 1e6;
}

void judgeGuard(const ClockFacts& clock, const LeaseTiming& timing, Report& report) {
  const double covered = coveredPpm(timing);
  const std::string margin = fmt::format("lease.clock_margin of {} covers clocks {:.0f} ppm too fast or too slow",
                                         durationText(timing.clockMargin()), covered);
  const std::string toDo =
      fmt::format("Leave lease.clock_margin out: the default is {} for this lease.",
                  durationText(LeaseTiming::from({.duration = timing.duration()}).value().clockMargin()));
  if (clock.kernel && clock.kernel->synchronised && std::abs(clock.kernel->correctionPpm) > covered) {
    return report.fault(
        "clock.margin",
        fmt::format("{}, and the kernel corrects this one by {:.1f} ppm.", margin,
                    std::abs(clock.kernel->correctionPpm)),
        covered < ClockGauge::coveredPpm ? toDo : "Make lease.clock_margin longer, or have the machine repaired.");
  }
  if (covered < ClockGauge::coveredPpm) {
    return report.warning("clock.margin", margin + "; the kernel corrects the frequency of a clock by up to 500 ppm.",
                          toDo);
  }
  report.ok("clock.margin", margin + ".");
}

void judgeStep(const ClockFacts& clock, Report& report) {
  constexpr milliseconds noticed{100};
  if (std::chrono::abs(clock.wallStep) <= noticed) {
    return report.ok("clock.step", fmt::format("The wall clock was not set in these {}.", wholeText(clock.span)));
  }
  report.warning(
      "clock.step",
      fmt::format("The wall clock was set {} {} while the doctor watched. No lease depends on it.",
                  wholeText(clock.wallStep), clock.wallStep < nanoseconds{0} ? "back" : "forward"),
      "Find out what sets it: two time daemons, or the tools of a virtual machine. Signatures, certificates and "
      "the periods of jobs depend on the wall clock.");
}

void judgeDaemon(const ClockFacts& clock, Report& report) {
  if (!clock.kernel) return report.notLookedAt("clock.synchronised", unknownHere);
  if (clock.kernel->synchronised) {
    return report.ok("clock.synchronised",
                     fmt::format("A time daemon keeps the kernel's clock, with a correction of {:+.1f} ppm.",
                                 clock.kernel->correctionPpm));
  }
  report.warning("clock.synchronised",
                 "No time daemon keeps the kernel's clock, so it is not known how far its rate is off.",
                 "Run chrony, systemd-timesyncd or ntpd on this machine; for a container, on its host.");
}

void judgeSuspend(const ClockFacts& clock, Report& report) {
  if (clock.suspended < seconds{1}) {
    return report.ok("clock.suspend", "This machine has not slept since it was started.");
  }
  report.warning("clock.suspend",
                 fmt::format("This machine has slept for {} since it was started. A leader that sleeps loses its lease "
                             "by the clock, and its work continues for a moment when it wakes.",
                             roughText(clock.suspended)),
                 "Forbid it (systemctl mask sleep.target suspend.target hibernate.target), and fence what the work "
                 "writes: docs/fencing.md.");
}

void judgeSource(const ClockFacts& clock, Report& report) {
  if (!clock.source) return report.notLookedAt("clock.source", unknownHere);
  const std::string& source = *clock.source;
  const std::string says = fmt::format("The kernel's clock source is {}", source);
  if (source == "jiffies" || source == "refined-jiffies") {
    return report.fault("clock.source", says + ", which is as coarse as the timer's tick and loses ticks.",
                        "See the kernel's log for why it found no better one (dmesg | grep -i clocksource).");
  }
  if (source != "hpet" && source != "acpi_pm") return report.ok("clock.source", says + ".");
  report.warning(
      "clock.source",
      says + ", which takes a microsecond to read" +
          (clock.steadyTsc ? "; the processor has a steady TSC, which the kernel does not trust here." : "."),
      "See the kernel's log for why (dmesg | grep -i -e tsc -e clocksource); in a virtual machine choose the "
      "hypervisor's own clock.");
}

void judgeMachine(const ClockFacts& clock, Report& report) {
  if (!clock.isVirtual) return report.notLookedAt("clock.machine", unknownHere);
  const std::string name = clock.machine.empty() ? "" : " (" + clock.machine + ')';
  if (!*clock.isVirtual) return report.ok("clock.machine", "This is not a virtual machine" + name + ".");
  report.ok(
      "clock.machine",
      "This is a virtual machine" + name +
          ". A live migration or a snapshot freezes it; a leader that was frozen for too long finds its lease over "
          "by the clock.",
      "Make lease.duration longer than a migration pauses the machine. A machine that is put back from a snapshot "
      "may hold an old term: fence what the work writes.");
}

void judgeSkew(const ServerFacts& server, Report& report) {
  constexpr seconds signedLimit{300}, nearLimit{60};
  if (!server.skew) {
    return report.notLookedAt("clock.skew", server.whyNot.empty() ? "the server reports no time" : server.whyNot);
  }
  const seconds off = std::chrono::abs(*server.skew);
  const std::string says = fmt::format("The wall clock of this machine is {} {} the server's", durationText(off),
                                       *server.skew < seconds{0} ? "ahead of" : "behind");
  const std::string toDo = "Set this machine's clock, and let a time daemon keep it.";
  if (off > signedLimit && server.signs) {
    return report.fault("clock.skew", says + "; signatures are refused beyond 5 minutes.", toDo);
  }
  if (off > (server.signs ? nearLimit : signedLimit)) {
    return report.warning("clock.skew",
                          says + (server.signs ? "; signatures are refused beyond 5 minutes."
                                               : "; certificates and tokens are judged by it."),
                          toDo);
  }
  report.ok("clock.skew", off <= seconds{1} ? "The wall clock of this machine agrees with the server's." : says + ".");
}

void judgeVersions(const Facts& facts, Report& report) {
  std::string libraries;
  for (const Version& one : facts.versions) {
    libraries += fmt::format("{}{} {}", libraries.empty() ? "" : ", ", one.name, one.version);
  }
  report.ok("versions.libraries", libraries + ".");
  const auto& server = facts.store.server;
  if (server && !server->version.empty()) {
    report.ok("versions.server", fmt::format("The server is {}.", server->version));
  } else if (server && !server->whyNot.empty()) {
    report.notLookedAt("versions.server", server->whyNot);
  }
}

}  // namespace

void judgeClocks(const Facts& facts, Report& report) {
  const ClockFacts& clock = facts.clock;
  judgeRate(clock, report);
  judgeGuard(clock, LeaseTiming::from(facts.lease).value(), report);
  judgeStep(clock, report);
  judgeDaemon(clock, report);
  judgeSuspend(clock, report);
  judgeSource(clock, report);
  judgeMachine(clock, report);
  if (facts.store.server) judgeSkew(*facts.store.server, report);
}

Report judge(const Facts& facts) {
  Report report;
  judgeClocks(facts, report);
  judgeStore(facts, report);
  judgeFiles(facts.files, report);
  judgeLimits(facts, report);
  judgeVersions(facts, report);
  return report;
}

}  // namespace tenure::cli::doctor
