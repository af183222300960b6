#include "jobs_view.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "cli/text/period_text.hpp"
#include "config/src/duration.hpp"
#include "election/jobs/src/zone.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::cli {
namespace {

using std::chrono::sys_seconds;

constexpr std::string_view running = "running";

Colour colourOf(const RunView& run) {
  if (run.state == running) return Colour::good;
  if (run.state == toString(RunOutcome::succeeded)) return Colour::none;
  return run.state == toString(RunOutcome::stopped) ? Colour::warning : Colour::bad;
}

RunView viewOf(const PastRun& run) {
  return {run.period, toString(run.outcome), run.exitCode, run.duration, run.attempt, run.began, run.holder, run.token};
}

RunView viewOf(const OpenRun& run, bool goesOn) {
  return {.period = run.period,
          .state = goesOn ? running : toString(RunOutcome::lost),
          .attempt = run.attempt,
          .began = run.began,
          .holder = run.holder,
          .token = run.token};
}

std::vector<RunView> runsOf(const JobHistory& history, FencingToken presentTerm) {
  std::vector<RunView> runs;
  // One that has ended is the last of the past runs.
  if (history.open && !history.open->ended) runs.push_back(viewOf(*history.open, history.open->token == presentTerm));
  for (auto run = history.past.rbegin(); run != history.past.rend(); ++run) runs.push_back(viewOf(*run));
  return runs;
}

void addNext(JobView& view, sys_seconds now) {
  const auto schedule = scheduleOf(*view.config);
  if (!schedule) return;
  view.next = schedule->after(now);
  const auto zone = Zone::named(view.config->timeZone);
  if (!zone || view.config->timeZone == "UTC") return;
  const sys_seconds local{zone->data().at(*view.next).local(*view.next).time_since_epoch()};
  std::string text = periodText(local);
  text.pop_back();  // it is not UTC
  view.localNext = text + ' ' + view.config->timeZone;
}

/// "0 3 * * * (Europe/Berlin), next 2026-11-25T02:00:00Z".
std::string headOf(const JobView& job, const std::string& file) {
  const std::string name = "job " + (inQuotes(job.name) == '"' + job.name + '"' ? job.name : inQuotes(job.name));
  if (!job.config) return name + ": not in " + file;
  const auto schedule = scheduleOf(*job.config);
  const std::string when = job.config->per ? "every " + durationText(*job.config->per)
                                           : (schedule ? schedule->text() : job.config->schedule);
  return name + ": " + when + (job.next ? ", next " + periodText(*job.next) : "") +
         (job.localNext.empty() ? "" : " (" + job.localNext + ")");
}

/// The latest span in time, and how many others there are.
std::string begunOf(const JobView& job) {
  if (job.begun.empty()) return {};
  const PeriodSpan& latest = job.begun.back();
  const std::size_t others = job.begun.size() - 1;
  return "  begun: " + periodText(latest.from) + (latest.from < latest.to ? " to " + periodText(latest.to) : "") +
         (others > 0 ? fmt::format(", and {} other span{}", others, others > 1 ? "s" : "") : "") + '\n';
}

constexpr std::size_t columns = 7;
using Cells = std::array<std::string, columns>;

Cells cellsOf(const RunView& run) {
  return {periodText(run.period),
          std::string{run.state},
          run.exitCode ? std::to_string(*run.exitCode) : "",
          run.duration ? durationText(*run.duration) : "",
          std::to_string(run.attempt),
          shown(run.holder),
          toString(run.token)};
}

std::string tableOf(const std::vector<RunView>& runs, bool colours) {
  std::vector<Cells> lines{{"PERIOD", "STATE", "EXIT", "DURATION", "ATTEMPT", "HOST", "TOKEN"}};
  for (const RunView& run : runs) lines.push_back(cellsOf(run));
  std::array<std::size_t, columns> widths{};
  for (const Cells& line : lines) {
    for (std::size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string text = "  ";
    for (std::size_t c = 0; c < columns; ++c) {
      std::string padded = lines[i][c];
      if (c + 1 < columns) padded.resize(widths[c] + 2, ' ');
      text += i > 0 && c == 1 ? coloured(padded, colourOf(runs[i - 1]), colours) : padded;
    }
    out += text + '\n';
  }
  return out;
}

std::string jsonOf(const RunView& run) {
  return fmt::format(
      R"({{"period":"{}","state":"{}","exit_code":{},"duration_ms":{},"attempt":{},"began_at":"{}","holder":{},)"
      R"("fencing_token":{}}})",
      periodText(run.period), run.state, run.exitCode ? std::to_string(*run.exitCode) : "null",
      run.duration ? std::to_string(run.duration->count()) : "null", run.attempt, periodText(run.began),
      jsonString(run.holder), toString(run.token));
}

std::string jsonOf(const PeriodSpan& span) {
  return fmt::format(R"({{"from":"{}","to":"{}"}})", periodText(span.from), periodText(span.to));
}

template <typename T>
std::string listOf(const std::vector<T>& items) {
  std::string out;
  for (const T& item : items) out += (out.empty() ? "" : ",") + jsonOf(item);
  return '[' + out + ']';
}

}  // namespace

std::vector<JobView> jobViewsOf(const JobsDocument& ledgers, const std::vector<JobConfig>& jobs,
                                const LeaseRecord* record, sys_seconds now) {
  const bool held = record != nullptr && !record->released && !record->vanished;
  const FencingToken presentTerm = held ? record->token : FencingToken{};
  std::vector<JobView> views;
  for (const JobConfig& job : jobs) {
    views.push_back({.name = job.name, .config = job});
    addNext(views.back(), now);
  }
  for (const auto& [name, ledger] : ledgers.jobs) {
    const std::string& wanted = name;  // clang 14 captures no structured binding
    auto view = std::find_if(views.begin(), views.end(), [&](const JobView& each) { return each.name == wanted; });
    if (view == views.end()) view = views.insert(view, {.name = name});
    view->runs = runsOf(ledger.history(), presentTerm);
    view->begun = ledger.history().begun;
    std::sort(view->begun.begin(), view->begun.end(),
              [](const PeriodSpan& a, const PeriodSpan& b) { return a.from < b.from; });
  }
  return views;
}

std::string toTable(const std::vector<JobView>& jobs, const std::string& file, bool colours) {
  std::string out;
  for (const JobView& job : jobs) {
    out += headOf(job, file) + '\n' + begunOf(job);
    out += job.runs.empty() ? coloured("  no run is known", Colour::dim, colours) + '\n' : tableOf(job.runs, colours);
  }
  return out;
}

std::string toJson(const JobView& job, const std::string& group, const std::string& store) {
  std::string schedule = "null", per = "null", zone = "null";
  if (job.config && job.config->per) per = std::to_string(job.config->per->count());
  if (job.config && !job.config->per) {
    schedule = jsonString(job.config->schedule);
    zone = jsonString(job.config->timeZone);
  }
  return fmt::format(
      R"({{"group":{},"job":{},"in_file":{},"schedule":{},"per_ms":{},"time_zone":{},"next_period":{},"begun":{},)"
      R"("runs":{},"store":{}}})"
      "\n",
      jsonString(group), jsonString(job.name), job.config ? "true" : "false", schedule, per, zone,
      job.next ? '"' + periodText(*job.next) + '"' : "null", listOf(job.begun), listOf(job.runs), jsonString(store));
}

}  // namespace tenure::cli
