#include "refusal_log.hpp"

#include <string_view>

namespace tenure::cli::fence_proxy {
namespace {

/// `409 stale-token`: the kind is the end of the problem's type, which begins its body.
std::string kindOf(const HttpRefusal& refusal) {
  constexpr std::string_view start = "{\"type\":\"urn:tenure:fence:";
  std::string kind = std::to_string(refusal.status);
  const std::string_view body{refusal.body};
  if (body.starts_with(start))
    kind.append(" ").append(body.substr(start.size(), body.find('"', start.size()) - start.size()));
  return kind;
}

}  // namespace

std::optional<std::string> RefusalLog::note(const Instant& now, const HttpRefusal& refusal, const std::string& client) {
  const std::string kind = kindOf(refusal);
  const auto [at, isFirst] = kinds_.try_emplace(kind);
  Kind& state = at->second;
  if (!isFirst && elapsedForHolder(state.told, now) < period) {
    ++state.untold;
    return std::nullopt;
  }
  std::string line = "answered a request of " + client + " with " + kind;
  if (state.untold > 0) line += " (and " + std::to_string(state.untold) + " more since the last such line)";
  state = {now, 0};
  return line;
}

}  // namespace tenure::cli::fence_proxy
