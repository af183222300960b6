// What the connections of a proxy share. Used on the proxy's one thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <tenure/adapters/http_fence.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/logger.hpp>

#include "io.hpp"
#include "problem_log.hpp"
#include "proxy_counts.hpp"
#include "settings.hpp"
#include "upstream.hpp"

namespace tenure::gateway {

struct Shared {
  Shared(const Executor& executor, const Settings& theSettings, HttpFence& theFence, Logger theLogger,
         ProxyCounts& theCounts)
      : settings{theSettings},
        fence{theFence},
        logger{std::move(theLogger)},
        counts{theCounts},
        upstream{executor, theSettings} {}

  /// The limit for all bodies together that are read to check their digests. A client that can replay a signed header
  /// must not get memory for it on each of a thousand connections.
  [[nodiscard]] std::size_t mostBodyBytes() const noexcept {
    return std::max<std::size_t>(8U << 20U, settings.limits.signedBodyBytes);
  }
  void noteProblem(const HttpProblem& problem, const std::string& client) {
    counts.add(ProblemLog::nameOf(problem));
    if (const auto line = problems.note(readClock(), problem, client))
      logger.log(LogLevel::warn, *line, LogEvent::fenceRefused, {});
  }

  const Settings& settings;
  HttpFence& fence;
  const Logger logger;
  ProxyCounts& counts;
  Upstream upstream;
  ProblemLog problems{};
  /// How many bytes of such bodies are in memory now. It is owned by coroutines too, which may end after this object.
  std::shared_ptr<std::size_t> bodyBytes{std::make_shared<std::size_t>(0)};
};

/// The bytes of one such body: a part of Shared::bodyBytes for as long as this object lives.
class HeldBytes {
 public:
  explicit HeldBytes(const Shared& shared) : all_{shared.bodyBytes}, most_{shared.mostBodyBytes()} {}
  ~HeldBytes() { *all_ -= held_; }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  /// False if all together would then be too much.
  [[nodiscard]] bool add(std::size_t bytes) noexcept {
    if (*all_ + bytes > most_) return false;
    *all_ += bytes;
    held_ += bytes;
    return true;
  }

 private:
  const std::shared_ptr<std::size_t> all_;
  const std::size_t most_;
  std::size_t held_{0};
};

}  // namespace tenure::gateway
