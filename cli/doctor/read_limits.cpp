#include "read_limits.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include "lockcore/port/number_text.hpp"

namespace tenure::cli::doctor {
namespace {

using std::chrono::microseconds;

constexpr std::uint64_t unlimited = ~std::uint64_t{0};

std::optional<std::uint64_t> numberIn(const std::optional<std::string>& text) {
  return text ? numberFrom<std::uint64_t>(*text) : std::nullopt;
}

/// The word after `name` in a text of lines `name value ...`.
std::string valueOf(const std::string& text, std::string_view name) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words{line.substr(name.size())};
    std::string word;
    words >> word;
    return word;
  }
  return {};
}

std::uint64_t countOf(const std::string& text, std::string_view name) {
  return numberFrom<std::uint64_t>(valueOf(text, name)).value_or(0);
}

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

/// The directories of this process's cgroup (version 2), from its own up to the root; none where there is none.
std::vector<std::string> cgroupsOf(const MachineTree& tree) {
  const auto own = tree.text("/proc/self/cgroup");
  if (!own) return {};
  std::string path;
  std::istringstream lines{*own};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) path = line.substr(3);
  }
  if (path.empty()) return {};
  std::vector<std::string> directories;
  for (; path.size() > 1; path.resize(path.rfind('/'))) {
    directories.push_back("/sys/fs/cgroup" + path);
  }
  directories.emplace_back("/sys/fs/cgroup");
  return directories;
}

/// `max 100000` or `50000 100000`. The tightest of all levels counts.
std::optional<CpuQuota> quotaOf(const MachineTree& tree, const std::vector<std::string>& cgroups) {
  std::optional<CpuQuota> tightest;
  const auto share = [](const CpuQuota& cpu) {
    return cpu.quota ? static_cast<double>(cpu.quota->count()) / static_cast<double>(cpu.period.count()) : 1e9;
  };
  for (const std::string& directory : cgroups) {
    const auto text = tree.text(directory + "/cpu.max");
    if (!text) continue;
    std::istringstream words{*text};
    std::string quota;
    std::int64_t period = 0;
    if (!(words >> quota >> period) || period <= 0) continue;
    CpuQuota level{.period = microseconds{period}};
    if (const auto number = numberFrom<std::int64_t>(quota)) level.quota = microseconds{*number};
    const std::string stat = tree.text(directory + "/cpu.stat").value_or("");
    level.periods = countOf(stat, "nr_periods ");
    level.throttled = countOf(stat, "nr_throttled ");
    level.throttledTime = microseconds{countOf(stat, "throttled_usec ")};
    if (!tightest || share(level) < share(*tightest)) tightest = level;
  }
  return tightest;
}

std::optional<MemoryLimit> memoryOf(const MachineTree& tree, const std::vector<std::string>& cgroups) {
  std::optional<MemoryLimit> tightest;
  const auto left = [](const MemoryLimit& memory) {
    return memory.most ? *memory.most - std::min(memory.used, *memory.most) : unlimited;
  };
  for (const std::string& directory : cgroups) {
    const auto most = tree.text(directory + "/memory.max");
    if (!most) continue;
    MemoryLimit level{.most = numberFrom<std::uint64_t>(*most)};
    level.used = numberIn(tree.text(directory + "/memory.current")).value_or(0);
    level.kills = countOf(tree.text(directory + "/memory.events").value_or(""), "oom_kill ");
    if (!tightest || left(level) < left(*tightest)) tightest = level;
  }
  return tightest;
}

std::optional<Room> tasksOf(const MachineTree& tree, const std::vector<std::string>& cgroups) {
  std::optional<Room> tightest;
  for (const std::string& directory : cgroups) {
    const auto most = numberIn(tree.text(directory + "/pids.max"));
    const auto used = numberIn(tree.text(directory + "/pids.current"));
    if (!most || !used) continue;
    if (!tightest || *most - *used < tightest->most - tightest->used) tightest = Room{"pids.max", *most, *used};
  }
  return tightest;
}

/// `some avg10=0.00 avg60=1.50 avg300=... total=...`
double minuteOf(const MachineTree& tree, const char* resource, const char* line) {
  const std::string text = tree.text(std::string{"/proc/pressure/"} + resource).value_or("");
  const std::size_t at = text.find(line);
  const std::size_t value = at == std::string::npos ? at : text.find("avg60=", at);
  if (value == std::string::npos) return 0;
  double percent = 0;
  std::istringstream{text.substr(value + 6)} >> percent;
  return percent;
}

/// Field `number` of /proc/self/stat, counted from 1 as proc(5) does; the second one may hold spaces.
std::optional<int> statField(const std::string& stat, int number) {
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream words{stat.substr(end + 1)};
  std::string word;
  for (int field = 3; words >> word; ++field) {
    if (field == number) return numberFrom<int>(word);
  }
  return std::nullopt;
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

}  // namespace

LimitFacts readLimits(const MachineTree& tree) {
  LimitFacts facts;
  readProcessLimits(tree, facts);
  facts.corePattern = tree.text("/proc/sys/kernel/core_pattern").value_or("");
  const std::vector<std::string> cgroups = cgroupsOf(tree);
  if (auto tasks = tasksOf(tree, cgroups)) facts.processes.push_back(std::move(*tasks));
  facts.cpu = quotaOf(tree, cgroups);
  facts.memory = memoryOf(tree, cgroups);
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
