#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "lockcore/port/ascii_text.hpp"
#include "machine.hpp"

namespace tenure::cli::doctor {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// The first word after `name`, which begins a line; empty: there is none.
std::string valueOf(const std::string& text, std::string_view name) {
  for (const std::string_view line : linesOf(text)) {
    if (!line.starts_with(name)) continue;
    const auto words = wordsOf(line.substr(name.size()));
    return words.empty() ? std::string{} : std::string{words.front()};
  }
  return {};
}

std::uint64_t countOf(const std::string& text, std::string_view name) {
  return numberFrom<std::uint64_t>(valueOf(text, name)).value_or(0);
}

/// A group's directories from its own up to the root; those that are not there (in a container the path may be the
/// host's) have no files.
struct Levels {
  bool second{true};  ///< the files of version 2
  std::vector<std::string> directories{};
};

Levels levelsOf(bool second, const std::string& mount, std::string path) {
  Levels levels{second, {}};
  for (; path.size() > 1; path.resize(path.rfind('/'))) levels.directories.push_back(mount + path);
  levels.directories.push_back(mount);
  return levels;
}

bool isAmong(const std::string& controllers, const std::string& wanted) {
  return (',' + controllers + ',').find(',' + wanted + ',') != std::string::npos;
}

/// /proc/self/cgroup has lines `4:cpu,cpuacct:/path` (version 1) and `0::/path` (version 2). A controller belongs to
/// one of the two versions.
Levels groupWith(const MachineTree& tree, const std::string& controller) {
  const std::string text = tree.text("/proc/self/cgroup").value_or("");
  Levels found{true, {}};
  for (const std::string_view line : linesOf(text)) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers{line.substr(first + 1, second - first - 1)}, path{line.substr(second + 1)};
    if (isAmong(controllers, controller)) return levelsOf(false, "/sys/fs/cgroup/" + controllers, path);
    if (controllers.empty()) found = levelsOf(true, "/sys/fs/cgroup", path);
  }
  return found;
}

std::optional<std::uint64_t> numberOf(const MachineTree& tree, const std::string& file) {
  const auto text = tree.text(file);
  return text ? numberFrom<std::uint64_t>(*text) : std::nullopt;
}

/// `max 100000` or `50000 100000`.
std::optional<CpuQuota> quotaOfSecond(const MachineTree& tree, const std::string& directory) {
  const auto text = tree.text(directory + "/cpu.max");
  if (!text) return std::nullopt;
  const auto words = wordsOf(*text);
  const std::int64_t period = words.size() < 2 ? 0 : numberFrom<std::int64_t>(words[1]).value_or(0);
  if (period <= 0) return std::nullopt;
  CpuQuota level{.period = microseconds{period}};
  if (const auto number = numberFrom<std::int64_t>(words[0])) level.quota = microseconds{*number};
  level.throttledTime = microseconds{countOf(tree.text(directory + "/cpu.stat").value_or(""), "throttled_usec ")};
  return level;
}

/// A quota of -1 is none.
std::optional<CpuQuota> quotaOfFirst(const MachineTree& tree, const std::string& directory) {
  const auto quota = tree.text(directory + "/cpu.cfs_quota_us");
  const auto period = numberOf(tree, directory + "/cpu.cfs_period_us");
  if (!quota || period.value_or(0) == 0) return std::nullopt;
  CpuQuota level{.period = microseconds{*period}};
  if (const auto number = numberFrom<std::uint64_t>(*quota)) level.quota = microseconds{*number};
  level.throttledTime = std::chrono::floor<microseconds>(
      nanoseconds{countOf(tree.text(directory + "/cpu.stat").value_or(""), "throttled_time ")});
  return level;
}

std::optional<CpuQuota> quotaOf(const MachineTree& tree) {
  const auto share = [](const CpuQuota& cpu) {
    return cpu.quota ? static_cast<double>(cpu.quota->count()) / static_cast<double>(cpu.period.count()) : 1e9;
  };
  const Levels levels = groupWith(tree, "cpu");
  std::optional<CpuQuota> tightest;
  for (const std::string& directory : levels.directories) {
    auto level = levels.second ? quotaOfSecond(tree, directory) : quotaOfFirst(tree, directory);
    if (!level) continue;
    const std::string stat = tree.text(directory + "/cpu.stat").value_or("");
    level->periods = countOf(stat, "nr_periods ");
    level->throttled = countOf(stat, "nr_throttled ");
    if (!tightest || share(*level) < share(*tightest)) tightest = level;
  }
  return tightest;
}

/// Pages of files, and what the kernel can free of its own, are given back before anything is killed, so they do not
/// count.
std::optional<MemoryLimit> memoryOf(const MachineTree& tree) {
  constexpr std::uint64_t none = std::uint64_t{1} << 60U;  // version 1 writes a number near 2^63
  const Levels levels = groupWith(tree, "memory");
  const auto pick = [&](const char* second, const char* first) {
    return std::string{"/memory."} + (levels.second ? second : first);
  };
  const auto left = [](const MemoryLimit& memory) {
    return memory.most ? *memory.most - std::min(memory.used, *memory.most) : ~std::uint64_t{0};
  };
  std::optional<MemoryLimit> tightest;
  for (const std::string& directory : levels.directories) {
    const auto most = tree.text(directory + pick("max", "limit_in_bytes"));
    if (!most) continue;
    MemoryLimit level{.most = numberFrom<std::uint64_t>(*most)};
    if (level.most.value_or(0) >= none) level.most.reset();
    const std::string stat = tree.text(directory + "/memory.stat").value_or("");
    const std::uint64_t spare =
        levels.second
            ? countOf(stat, "inactive_file ") + countOf(stat, "active_file ") + countOf(stat, "slab_reclaimable ")
            : countOf(stat, "total_inactive_file ") + countOf(stat, "total_active_file ");
    const std::uint64_t used = numberOf(tree, directory + pick("current", "usage_in_bytes")).value_or(0);
    level.used = used - std::min(used, spare);
    level.kills = countOf(tree.text(directory + pick("events", "oom_control")).value_or(""), "oom_kill ");
    if (!tightest || left(level) < left(*tightest)) tightest = level;
  }
  return tightest;
}

std::optional<Room> tasksOf(const MachineTree& tree) {
  std::optional<Room> tightest;
  for (const std::string& directory : groupWith(tree, "pids").directories) {
    const auto most = numberOf(tree, directory + "/pids.max");
    const auto used = numberOf(tree, directory + "/pids.current");
    if (!most || !used) continue;
    const std::uint64_t left = *most - std::min(*used, *most);
    if (!tightest || left < tightest->most - std::min(tightest->used, tightest->most)) {
      tightest = Room{"pids.max", *most, *used};
    }
  }
  return tightest;
}

constexpr std::uint64_t unlimited = ~std::uint64_t{0};

/// A soft limit of /proc/self/limits.
std::optional<std::uint64_t> softLimit(const std::string& limits, std::string_view name) {
  const std::string word = valueOf(limits, name);
  if (word == "unlimited") return unlimited;
  return numberFrom<std::uint64_t>(word);
}

/// How many threads this user has.
std::uint64_t threadsOf(const MachineTree& tree, const std::string& user) {
  std::uint64_t threads = 0;
  std::error_code fault;
  for (const auto& entry : std::filesystem::directory_iterator{tree.path("/proc"), fault}) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto status = tree.text("/proc/" + name + "/status");
    if (status && valueOf(*status, "Uid:") == user) threads += countOf(*status, "Threads:");
  }
  return threads;
}

/// `some avg10=0.00 avg60=1.50 avg300=... total=...`
double minuteOf(const MachineTree& tree, const char* resource, const char* line) {
  const std::string text = tree.text(std::string{"/proc/pressure/"} + resource).value_or("");
  const std::size_t at = text.find(line);
  const std::size_t value = at == std::string::npos ? at : text.find("avg60=", at);
  if (value == std::string::npos) return 0;
  double percent = 0;
  std::from_chars(text.data() + value + 6, text.data() + text.size(), percent);
  return percent;
}

/// Field `number` of /proc/self/stat, counted from 1 as proc(5) does; the second one may hold spaces.
std::optional<int> statField(const std::string& stat, int number) {
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  const auto words = wordsOf(std::string_view{stat}.substr(end + 1));
  const auto index = static_cast<std::size_t>(number - 3);
  return index < words.size() ? numberFrom<int>(words[index]) : std::nullopt;
}

void readProcessLimits(const MachineTree& tree, LimitFacts& facts) {
  const auto limits = tree.text("/proc/self/limits");
  if (!limits) return;
  facts.descriptors = softLimit(*limits, "Max open files");
  facts.coreBytes = softLimit(*limits, "Max core file size");
  const std::string user = valueOf(tree.text("/proc/self/status").value_or(""), "Uid:");
  const auto processes = softLimit(*limits, "Max processes");
  // The kernel does not hold root to this limit.
  if (!processes || *processes == unlimited || user == "0" || user.empty()) return;
  facts.processes.push_back({"ulimit -u", *processes, threadsOf(tree, user)});
}

/// The tightest of all levels counts, from the process's own group up to the root that is visible here.
void readCgroup(const MachineTree& tree, LimitFacts& facts) {
  facts.cpu = quotaOf(tree);
  facts.memory = memoryOf(tree);
  if (auto tasks = tasksOf(tree)) facts.processes.push_back(std::move(*tasks));
}

}  // namespace

LimitFacts readLimits(const MachineTree& tree) {
  LimitFacts facts;
  facts.hasProc = std::filesystem::exists(tree.path("/proc/self"));
  readProcessLimits(tree, facts);
  facts.corePattern = tree.text("/proc/sys/kernel/core_pattern").value_or("");
  readCgroup(tree, facts);
  if (tree.text("/proc/pressure/cpu")) {
    facts.pressure =
        Pressure{minuteOf(tree, "cpu", "some"), minuteOf(tree, "memory", "full"), minuteOf(tree, "io", "full")};
  }
  if (const auto stat = tree.text("/proc/self/stat")) {
    facts.nice = statField(*stat, 19);
    facts.policy = statField(*stat, 41);
  }
  return facts;
}

}  // namespace tenure::cli::doctor
