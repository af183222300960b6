#include "report_text.hpp"

#include <string_view>

#include <fmt/format.h>

#include "cli/output.hpp"
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
  if (!report.missing().empty()) out += "\nNot looked at\n";
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
