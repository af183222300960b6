#include "log_line.hpp"

#include <algorithm>
#include <array>

#include "json_text.hpp"
#include "quoted_text.hpp"

namespace tenure {
namespace {

constexpr std::array<LogEventSpec, 18> specs{{
    {LogEvent::message, "message", "", "A line that is none of the other events."},
    {LogEvent::candidateStarted, "candidate_started", "group candidate store",
     "A candidate starts to compete, or an observer to follow the leader."},
    {LogEvent::elected, "elected", "group token", "This candidate leads, with this fencing token."},
    {LogEvent::inDoubt, "in_doubt", "group error remaining_ms",
     "A renewal failed. This candidate leads for this time unless a renewal succeeds."},
    {LogEvent::doubtEnded, "doubt_ended", "group token", "A renewal succeeded after such a failure."},
    {LogEvent::revoked, "revoked", "group token reason detail", "This candidate no longer leads."},
    {LogEvent::leaderChanged, "leader_changed", "group leader token address",
     "Another candidate leads; without the key leader, none does."},
    {LogEvent::candidateStopped, "candidate_stopped", "group result",
     "The candidacy has ended. The result is that of the release."},
    {LogEvent::lockAcquired, "lock_acquired", "lock token", "A lock was acquired (level debug)."},
    {LogEvent::lockInDoubt, "lock_in_doubt", "lock error remaining_ms",
     "A renewal of a lock failed. It is held for this time unless a renewal succeeds."},
    {LogEvent::jobStarted, "job_started", "group pid token", "`tenure run` has started the job."},
    {LogEvent::jobStopping, "job_stopping", "group pid reason",
     "The job, or the hook on_elected, is asked to stop by SIGTERM."},
    {LogEvent::jobKilled, "job_killed", "group pid reason", "The job, or the hook on_elected, is killed by SIGKILL."},
    {LogEvent::jobEnded, "job_ended", "group pid exit_code",
     "All processes of the job have ended. The exit code is that of a shell: 128 + the signal that ended it."},
    {LogEvent::hookStarted, "hook_started", "group hook token", "`on_elected` or `on_revoked` was started."},
    {LogEvent::hookEnded, "hook_ended", "group hook exit_code", "All processes of this hook have ended."},
    {LogEvent::fenceRefused, "fence_refused", "",
     "The fence proxy has refused requests with a stale token. The sentence says which."},
    {LogEvent::linesLost, "lines_lost", "count",
     "The number of lines that were dropped before this one, because stderr was blocked."},
}};

/// A value of logfmt stands in quotes where a reader could mistake its end.
bool needsQuotes(std::string_view value) noexcept {
  return value.empty() || std::any_of(value.begin(), value.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte <= 0x20 || byte == 0x7F || byte >= 0x80 || c == '"' || c == '=' || c == '\\';
         });
}

std::string textOf(const LogField& field) {
  if (const auto* number = std::get_if<std::int64_t>(&field.value)) return std::to_string(*number);
  if (const auto* token = std::get_if<FencingToken>(&field.value)) return std::to_string(token->value());
  return std::get<std::string>(field.value);
}

void appendPair(std::string& out, std::string_view key, const std::string& value) {
  out.append(" ").append(key).append("=").append(needsQuotes(value) ? jsonString(value) : value);
}

std::string textLine(std::string_view time, const LogRecord& record) {
  const std::string_view level = toString(record.level);
  std::string out{time};
  out.append(" ").append(level).append(6 - std::min<std::size_t>(level.size(), 5), ' ');
  return out.append("tenure: ").append(shown(record.line, record.line.size())).append("\n");
}

std::string logfmtLine(std::string_view time, const LogRecord& record) {
  std::string out = "time=" + std::string{time};
  appendPair(out, "level", std::string{toString(record.level)});
  appendPair(out, "event", std::string{toString(record.event)});
  for (const LogField& field : record.fields) appendPair(out, field.key, textOf(field));
  appendPair(out, "message", std::string{record.line});
  return out + '\n';
}

std::string jsonLine(std::string_view time, const LogRecord& record) {
  std::string out = "{\"time\":" + jsonString(time) + ",\"level\":" + jsonString(toString(record.level)) +
                    ",\"event\":" + jsonString(toString(record.event));
  for (const LogField& field : record.fields) {
    const bool isNumber = !std::holds_alternative<std::string>(field.value);
    out.append(",").append(jsonString(field.key)).append(":");
    out += isNumber ? textOf(field) : jsonString(textOf(field));
  }
  return out + ",\"message\":" + jsonString(record.line) + "}\n";
}

}  // namespace

std::span<const LogEventSpec> logEventSpecs() noexcept { return specs; }

std::string_view toString(LogEvent event) noexcept {
  for (const LogEventSpec& spec : specs) {
    if (spec.event == event) return spec.name;
  }
  return "invalid";
}

std::string logLine(LogFormat format, std::string_view time, const LogRecord& record) {
  switch (format) {
    case LogFormat::logfmt:
      return logfmtLine(time, record);
    case LogFormat::json:
      return jsonLine(time, record);
    case LogFormat::text:
      break;
  }
  return textLine(time, record);
}

}  // namespace tenure
