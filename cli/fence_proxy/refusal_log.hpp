// What is logged about refused requests: one line for each kind and period, with the number of the others. Pure: time
// is an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <tenure/adapters/http_fence.hpp>
#include <tenure/lockcore/clock.hpp>

namespace tenure::cli::fence_proxy {

/// Anybody who can connect decides how many requests are refused, so this number must not decide how much is logged.
class RefusalLog {
 public:
  static constexpr std::chrono::seconds period{10};

  /// The line to log, if it is time for one of this kind: `answered a request of 10.0.0.7:4711 with 409 stale-token
  /// (and 41 more since the last such line)`.
  [[nodiscard]] std::optional<std::string> note(const Instant& now, const HttpRefusal& refusal,
                                                const std::string& client);

 private:
  struct Kind {
    Instant told{};
    std::uint64_t untold{0};
  };
  std::map<std::string, Kind> kinds_{};  ///< as many as there are kinds of refusals; the program defines them
};

}  // namespace tenure::cli::fence_proxy
