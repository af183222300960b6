// What is logged about refused requests: one line for each kind and period, with the number of the others. Pure: time
// is an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/adapters/http_fence.hpp>
#include <tenure/lockcore/clock.hpp>

namespace tenure::gateway {

/// Anybody who can connect decides how many requests are refused, so this number must not decide how much is logged.
class ProblemLog {
 public:
  static constexpr std::chrono::seconds period{10};

  /// The line to log, if it is time for one of this kind: `answered a request of 10.0.0.7:4711 with 409 stale-token
  /// (and 41 more since the last such line)`.
  [[nodiscard]] std::optional<std::string> note(const Instant& now, const HttpProblem& problem,
                                                const std::string& client) {
    const std::string kind = kindOf(problem);
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

  /// `stale-token`: the end of the problem's type, which begins its body; without one, the status.
  [[nodiscard]] static std::string nameOf(const HttpProblem& problem) {
    constexpr std::string_view start = "{\"type\":\"urn:tenure:fence:";
    const std::string_view body{problem.body};
    if (!body.starts_with(start)) return std::to_string(problem.status);
    return std::string{body.substr(start.size(), body.find('"', start.size()) - start.size())};
  }

 private:
  /// `409 stale-token`.
  [[nodiscard]] static std::string kindOf(const HttpProblem& problem) {
    const std::string status = std::to_string(problem.status);
    const std::string name = nameOf(problem);
    return name == status ? status : status + ' ' + name;
  }

  struct Kind {
    Instant told{};
    std::uint64_t untold{0};
  };
  std::map<std::string, Kind> kinds_{};  ///< as many as there are kinds of rejections; the program defines them
};

}  // namespace tenure::gateway
