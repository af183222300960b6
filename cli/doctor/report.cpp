#include "report.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/text/output.hpp"
#include "lockcore/port/ascii_text.hpp"

namespace tenure::cli::doctor {
namespace {

constexpr std::size_t lineWidth = 79;

std::string_view groupOf(std::string_view name) { return name.substr(0, name.find('.')); }

std::string_view titleOf(std::string_view group) {
  if (group == "clock") return "Clocks";
  if (group == "store") return "Store";
  if (group == "files") return "Files";
  if (group == "limits") return "Limits";
  return "Versions";
}

Colour colourOf(Grade grade) {
  return grade == Grade::ok ? Colour::good : grade == Grade::warning ? Colour::warning : Colour::bad;
}

/// Words below one another, so that no line is longer than a terminal, unless one word is.
std::string wrapped(const std::string& text, std::size_t margin) {
  std::string out;
  std::string line;
  for (const std::string_view word : wordsOf(text)) {
    if (!line.empty() && margin + line.size() + 1 + word.size() > lineWidth) {
      out += std::string(margin, ' ') + line + '\n';
      line.clear();
    }
    line.append(line.empty() ? "" : " ").append(word);
  }
  return out + std::string(margin, ' ') + line + '\n';
}

std::string count(std::size_t number, const char* one, const char* many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::string shown(const Finding& finding, bool colours) {
  const std::string grade = coloured(toString(finding.grade), colourOf(finding.grade), colours);
  const std::string padding(8 - toString(finding.grade).size(), ' ');
  std::string out = fmt::format("  {}{}{}\n{}", grade, padding, finding.name, wrapped(finding.says, 10));
  if (!finding.toDo.empty()) out += wrapped("-> " + finding.toDo, 10);
  return out;
}

std::string textOrNull(const std::string& text) { return jsonStringOrNull(text); }

std::string latencyJson(const std::optional<LatencySummary>& summary, std::size_t failed) {
  if (!summary) return "null";
  const auto micros = [](std::chrono::nanoseconds time) { return (time.count() + 500) / 1'000; };
  const auto shortest = shortestLease(summary->most);
  return fmt::format(R"({{"calls":{},"failed":{},"p50_us":{},"p99_us":{},"max_us":{},"shortest_lease_ms":{}}})",
                     summary->count, failed, micros(summary->p50), micros(summary->p99), micros(summary->most),
                     shortest ? std::to_string(shortest->count()) : "null");
}

}  // namespace

std::string_view toString(Grade grade) noexcept {
  switch (grade) {
    case Grade::ok:
      return "ok";
    case Grade::warning:
      return "warning";
    case Grade::fault:
      return "fault";
  }
  return "invalid";
}

const std::vector<Check>& checks() {  // NOLINT(readability-function-size): a table
  static const std::vector<Check> all{
      {"clock.rate", "CLOCK_MONOTONIC against CLOCK_MONOTONIC_RAW, for a second or more",
       "they differ by more than 500 ppm: a time daemon slews the clock", ""},
      {"clock.margin", "the rates that `lease.clock_margin` covers, and the kernel's correction of this clock",
       "less than 500 ppm are covered, to which the kernel limits corrections of the frequency",
       "the correction of a clock that a time daemon keeps is more than the margin covers"},
      {"clock.step", "the wall clock against CLOCK_MONOTONIC, in the same time", "the wall clock was set", ""},
      {"clock.synchronised", "whether a time daemon keeps the kernel's clock (adjtimex)", "none does", ""},
      {"clock.suspend", "how long this machine has slept since it was started", "more than a second", ""},
      {"clock.source", "the kernel's clock source", "a slow one, or the kernel gave the TSC up as unstable",
       "`jiffies`"},
      {"clock.machine", "whether this is a virtual machine, which may be frozen, migrated and put back", "", ""},
      {"clock.skew", "the wall clock against the Date of the store's server",
       "more than a minute where requests are signed, otherwise more than five minutes",
       "more than five minutes where requests are signed"},
      {"store.answer",
       "a read of the lease; with `--write` the store is made ready first, as `tenure check --connect` does", "",
       "the store cannot be reached, refuses, or denies a permission"},
      {"store.tokens", "the fencing counter against the record", "they disagree", ""},
      {"store.commits", "whether the commit mode awaits standbys, where that is a choice",
       "it does not: a standby that is promoted may lack the last terms, started periods and pauses", ""},
      {"store.reads", "how long reads take, and the shortest lease that would tolerate them",
       "the slowest read would not fit after a renewal that was lost, or some reads failed",
       "one read in a hundred would not fit"},
      {"store.writes",
       "the same for renewals of the doctor's lease; only with `--write`, and not while another doctor writes",
       "as for reads, or the record could not be removed", "as for reads, or no write was possible"},
      {"files.config", "who may write to the configuration file", "the group may, or the directory is open to others",
       "others may"},
      {"files.secrets", "who may read files with passwords, keys and tokens that the configuration names",
       "the group may read a key or a password", "others may, or this user may not"},
      {"files.directory",
       "the directory of the database or of the liveness files (where `store.liveness_dir` is missing, its parent)",
       "others may write to it, but not remove what is not theirs (sticky)",
       "it is missing, this user may not write to it, or others may remove files"},
      {"files.access", "who may open the files of the database, and whether this user could write them",
       "others than `store.mode` says may open and so lock them, or a candidate's liveness file is closed to this user",
       "this user may not write the database, its log or the directory next to it"},
      {"files.system", "the file system under it",
       "memory only (tmpfs) under a database, or a container's own layer (overlay)",
       "a network file system, or mounted read-only"},
      {"files.space", "free space and inodes there", "less than 64 MiB, or less than 1000 inodes",
       "less than 4 MiB, or no inode"},
      {"limits.proc", "whether /proc is mounted", "", "it is not: `tenure run` cannot start its guard"},
      {"limits.descriptors", "the limit of open files against what a candidate needs", "little is left for a job",
       "less than a candidate needs"},
      {"limits.processes", "the limits of processes and threads (`ulimit -u`, `pids.max`) and how many there are",
       "room for fewer than 64 more", "room for fewer than 16 more"},
      {"limits.core_dumps", "whether a crash writes the memory, and so passwords and keys, to a file",
       "it does, and the store has secrets", ""},
      {"limits.cpu_quota", "the cgroup's quota of processor time, and how often it stopped this cgroup",
       "a twentieth of a processor or less, or it stopped in more than 5 % of its periods",
       "a period is longer than the time in which a renewal must be done"},
      {"limits.memory", "the cgroup's limit of memory", "less than 64 MiB are left, or something was killed for it",
       "less than 16 MiB are left"},
      {"limits.pressure", "how long tasks wait for processor, memory and disk (/proc/pressure)",
       "in the last minute more than 50 % for a processor, 10 % for memory, or 30 % for disks", ""},
      {"limits.priority", "nice value and scheduling policy", "a nice value above 0, or a batch or idle policy", ""},
      {"limits.job_cgroup", "whether a job gets a cgroup; one is made and removed", "", ""},
      {"versions.libraries", "tenure and the libraries that it uses", "", ""},
      {"versions.server", "the store's server, if it reports its version", "", ""},
  };
  return all;
}

void Report::ok(std::string name, std::string says, std::string toDo) {
  findings_.push_back({std::move(name), Grade::ok, std::move(says), std::move(toDo)});
}

void Report::warning(std::string name, std::string says, std::string toDo) {
  findings_.push_back({std::move(name), Grade::warning, std::move(says), std::move(toDo)});
}

void Report::fault(std::string name, std::string says, std::string toDo) {
  findings_.push_back({std::move(name), Grade::fault, std::move(says), std::move(toDo)});
}

void Report::notLookedAt(std::string name, std::string why) { missing_.push_back({std::move(name), std::move(why)}); }

Grade Report::worst() const noexcept {
  Grade worst = Grade::ok;
  for (const Finding& finding : findings_) worst = std::max(worst, finding.grade);
  return worst;
}

std::size_t Report::count(Grade grade) const noexcept {
  return static_cast<std::size_t>(std::count_if(findings_.begin(), findings_.end(),
                                                [&](const Finding& finding) { return finding.grade == grade; }));
}

std::string toText(const Facts& facts, const Report& report, bool colours) {
  std::string out = fmt::format("{}: group {}, store {}\n", facts.file, facts.group, facts.store.name);
  std::string_view group;
  for (const Finding& finding : report.findings()) {
    if (groupOf(finding.name) != group) {
      group = groupOf(finding.name);
      out += fmt::format("\n{}\n", titleOf(group));
    }
    out += shown(finding, colours);
  }
  if (!report.missing().empty()) out += "\nNot checked\n";
  for (const NotLookedAt& one : report.missing()) out += wrapped(one.name + ": " + one.why, 2);
  out += fmt::format("\n{}, {}, {} ok\n", count(report.count(Grade::fault), "fault", "faults"),
                     count(report.count(Grade::warning), "warning", "warnings"), report.count(Grade::ok));
  return out;
}

std::string toJson(const Facts& facts, const Report& report) {
  std::string findings, missing, versions;
  for (const Finding& one : report.findings()) {
    findings += fmt::format(R"({}{{"name":{},"grade":"{}","says":{},"do":{}}})", findings.empty() ? "" : ",",
                            jsonString(one.name), toString(one.grade), jsonString(one.says), textOrNull(one.toDo));
  }
  for (const NotLookedAt& one : report.missing()) {
    missing += fmt::format(R"({}{{"name":{},"why":{}}})", missing.empty() ? "" : ",", jsonString(one.name),
                           jsonString(one.why));
  }
  for (const Version& one : facts.versions) {
    versions += fmt::format("{}{}:{}", versions.empty() ? "" : ",", jsonString(one.name), jsonString(one.version));
  }
  const Latencies none;
  const Latencies& writes = facts.store.writes ? *facts.store.writes : none;
  return fmt::format(
      R"({{"group":{},"store":{},"grade":"{}","findings":[{}],"not_looked_at":[{}],"reads":{},"writes":{},)"
      R"("versions":{{{}}},"server_version":{}}})"
      "\n",
      jsonString(facts.group), jsonString(facts.store.name), toString(report.worst()), findings, missing,
      latencyJson(summaryOf(facts.store.reads), facts.store.reads.failed),
      latencyJson(summaryOf(writes), writes.failed), versions,
      textOrNull(facts.store.server ? facts.store.server->version : std::string{}));
}

}  // namespace tenure::cli::doctor
