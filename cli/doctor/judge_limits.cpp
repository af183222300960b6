#include <algorithm>
#include <sched.h>
#include <string>

#include <fmt/format.h>

#include "config/src/duration.hpp"
#include "judge.hpp"

namespace tenure::cli::doctor {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr const char* notShown = "this system does not show it";
constexpr const char* noGroup = "no cgroup with this controller is shown here";
constexpr std::uint64_t oneMebibyte = 1U << 20U;

void judgeProc(const LimitFacts& limits, Report& report) {
  if (limits.hasProc) return report.ok("limits.proc", "/proc is mounted, where a job's processes are found.");
  report.fault("limits.proc", "/proc is not mounted, so tenure run starts no guard and no job.",
               "Mount it: mount -t proc proc /proc.");
}

void judgeDescriptors(const LimitFacts& limits, Report& report) {
  if (!limits.descriptors) return report.notLookedAt("limits.descriptors", notShown);
  const std::uint64_t most = *limits.descriptors, needed = limits.descriptorsNeeded;
  const std::string says =
      fmt::format("{} files and connections may be open; a candidate of this group needs up to {}", most, needed);
  const std::string toDo = "Raise it: ulimit -n, or LimitNOFILE= of the unit.";
  if (most < needed) return report.fault("limits.descriptors", says + ".", toDo);
  if (most < 2 * needed) return report.warning("limits.descriptors", says + ", and the job needs its own.", toDo);
  report.ok("limits.descriptors", says + ".");
}

void judgeProcesses(const LimitFacts& limits, Report& report) {
  constexpr std::uint64_t little = 64, none = 16;
  if (limits.processes.empty()) {
    return report.ok("limits.processes", "Nothing limits the number of processes and threads of this user.");
  }
  const auto left = [](const Room& room) { return room.most > room.used ? room.most - room.used : 0; };
  const Room& least = *std::min_element(limits.processes.begin(), limits.processes.end(),
                                        [&](const Room& a, const Room& b) { return left(a) < left(b); });
  const std::string says =
      fmt::format("{} of {} processes and threads are in use ({})", least.used, least.most, least.limit);
  const std::string toDo =
      "Raise it: ulimit -u, TasksMax= of the unit, or pids.max of the cgroup. A candidate needs "
      "about 20 threads, and its job needs its own.";
  if (left(least) < none) return report.fault("limits.processes", says + ".", toDo);
  if (left(least) < little) return report.warning("limits.processes", says + ".", toDo);
  report.ok("limits.processes", says + ".");
}

void judgeCoreDumps(const LimitFacts& limits, Report& report) {
  if (!limits.coreBytes) return report.notLookedAt("limits.core_dumps", notShown);
  if (*limits.coreBytes == 0) return report.ok("limits.core_dumps", "A crash leaves no core dump (ulimit -c is 0).");
  const std::string says =
      fmt::format("A crash leaves a core dump{}", limits.corePattern.empty() ? "" : " (" + limits.corePattern + ')');
  if (!limits.hasSecrets) return report.ok("limits.core_dumps", says + "; this store has no secrets in memory.");
  report.warning("limits.core_dumps", says + ", and with it the store's passwords, keys or tokens.",
                 "ulimit -c 0, or LimitCORE=0 of the unit.");
}

void judgeQuota(const LimitFacts& limits, const LeaseTiming& timing, Report& report) {
  if (!limits.cpu) return report.notLookedAt("limits.cpu_quota", noGroup);
  const CpuQuota& cpu = *limits.cpu;
  const double share = cpu.periods == 0 ? 0 : static_cast<double>(cpu.throttled) / static_cast<double>(cpu.periods);
  const std::string stops =
      cpu.throttled == 0 ? std::string{}
                         : fmt::format("; it was stopped in {} of {} periods, for {} in all", cpu.throttled,
                                       cpu.periods, durationText(std::chrono::floor<milliseconds>(cpu.throttledTime)));
  if (!cpu.quota) return report.ok("limits.cpu_quota", "The cgroup has no quota of processor time" + stops + ".");
  const double processors = static_cast<double>(cpu.quota->count()) / static_cast<double>(cpu.period.count());
  const std::string says = fmt::format("The cgroup has {:.2f} processors, in periods of {}{}", processors,
                                       durationText(std::chrono::ceil<milliseconds>(cpu.period)), stops);
  const std::string toDo =
      "Raise the quota (CPUQuota= of the unit, limits.cpu of the container), or use weights "
      "instead: a candidate that is stopped does not renew.";
  if (cpu.period > timing.leadsFor() - timing.heartbeat()) return report.fault("limits.cpu_quota", says + ".", toDo);
  if (processors <= 0.05 || share > 0.05) return report.warning("limits.cpu_quota", says + ".", toDo);
  report.ok("limits.cpu_quota", says + ".");
}

void judgeMemory(const LimitFacts& limits, Report& report) {
  constexpr std::uint64_t little = 64 * oneMebibyte, none = 16 * oneMebibyte;
  if (!limits.memory) return report.notLookedAt("limits.memory", noGroup);
  const MemoryLimit& memory = *limits.memory;
  const std::string kills =
      memory.kills == 0 ? std::string{} : fmt::format("; {} processes were killed for it", memory.kills);
  if (!memory.most) return report.ok("limits.memory", "The cgroup has no limit of memory" + kills + ".");
  const std::uint64_t left = *memory.most > memory.used ? *memory.most - memory.used : 0;
  const std::string says = fmt::format("{} MiB of the cgroup's {} MiB of memory are in use{}",
                                       memory.used / oneMebibyte, *memory.most / oneMebibyte, kills);
  const std::string toDo =
      "Raise the limit (MemoryMax= of the unit, limits.memory of the container), or find what uses "
      "it.";
  if (left < none) return report.fault("limits.memory", says + ".", toDo);
  if (left < little || memory.kills > 0) return report.warning("limits.memory", says + ".", toDo);
  report.ok("limits.memory", says + ".");
}

void judgePressure(const LimitFacts& limits, Report& report) {
  if (!limits.pressure) return report.notLookedAt("limits.pressure", "the kernel does not measure it (psi=1)");
  const Pressure& pressure = *limits.pressure;
  const std::string says = fmt::format(
      "In the last minute tasks waited {:.0f} % of the time for a processor, and all of them {:.0f} % for memory and "
      "{:.0f} % for disks",
      pressure.cpuSome, pressure.memoryFull, pressure.ioFull);
  if (pressure.cpuSome <= 50 && pressure.memoryFull <= 10 && pressure.ioFull <= 30) {
    return report.ok("limits.pressure", says + ".");
  }
  report.warning("limits.pressure", says + ": renewals come late on such a machine.",
                 "Move work off this machine, or make lease.duration longer.");
}

void judgePriority(const LimitFacts& limits, Report& report) {
  if (!limits.nice || !limits.policy) return report.notLookedAt("limits.priority", notShown);
  const bool behind = *limits.policy == SCHED_BATCH || *limits.policy == SCHED_IDLE;
  const char* policy = *limits.policy == SCHED_IDLE ? "idle" : *limits.policy == SCHED_BATCH ? "batch" : "usual";
  const std::string says =
      fmt::format("The nice value is {}, and the scheduling policy the {} one", *limits.nice, policy);
  if (*limits.nice <= 0 && !behind) return report.ok("limits.priority", says + ".");
  report.warning("limits.priority", says + ": other work goes before the renewals of a candidate started like this.",
                 "Start candidates without nice, chrt --batch and chrt --idle (Nice= and CPUSchedulingPolicy= of the "
                 "unit).");
}

void judgeJobCgroup(const LimitFacts& limits, Report& report) {
  if (limits.whyNoJobCgroup.empty()) {
    return report.ok("limits.job_cgroup", "Each job gets a cgroup, by which the kernel ends all of it at once.");
  }
  report.ok("limits.job_cgroup",
            fmt::format("A job gets no cgroup ({}); its processes are ended one by one.", limits.whyNoJobCgroup),
            "Delegate=pids in a unit of the system, with /sys/fs/cgroup writable, gives one to the jobs of its main "
            "process.");
}

}  // namespace

void judgeLimits(const Facts& facts, Report& report) {
  const LimitFacts& limits = facts.limits;
  judgeProc(limits, report);
  judgeDescriptors(limits, report);
  judgeProcesses(limits, report);
  judgeCoreDumps(limits, report);
  judgeQuota(limits, LeaseTiming::from(facts.lease).value(), report);
  judgeMemory(limits, report);
  judgePressure(limits, report);
  judgePriority(limits, report);
  judgeJobCgroup(limits, report);
}

}  // namespace tenure::cli::doctor
