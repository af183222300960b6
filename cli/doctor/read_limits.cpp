#include "read_limits.hpp"

#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "kernel_text.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "read_cgroup.hpp"

namespace tenure::cli::doctor {
namespace {

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
