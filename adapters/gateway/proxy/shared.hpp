// What the connections of a proxy share. Used on the proxy's one thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
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

/// How many bytes of bodies whose digests are checked are in memory now, and for whom (ClientTable::groupOf).
struct BodyBytes {
  std::size_t all{0};
  std::map<std::string, std::size_t> ofGroup{};
};

struct Shared {
  Shared(const Executor& executor, const Settings& theSettings, HttpFence& theFence, Logger theLogger,
         ProxyCounts& theCounts)
      : settings{theSettings},
        fence{theFence},
        logger{std::move(theLogger)},
        counts{theCounts},
        upstream{executor, theSettings} {}

  /// The limit for all bodies together that are read to check their digests; one group of clients gets half of it. A
  /// client that can replay a signed header must not get memory for it on each of a thousand connections.
  [[nodiscard]] std::size_t mostBodyBytes() const noexcept {
    return std::max<std::size_t>(8U << 20U, 2 * settings.limits.signedBodyBytes);
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
  /// It is owned by coroutines too, which may end after this object.
  std::shared_ptr<BodyBytes> bodyBytes{std::make_shared<BodyBytes>()};
};

/// The bytes of one such body: a part of Shared::bodyBytes for as long as this object lives.
class HeldBytes {
 public:
  HeldBytes(const Shared& shared, std::string group)
      : bytes_{shared.bodyBytes}, group_{std::move(group)}, most_{shared.mostBodyBytes()} {}
  ~HeldBytes() {
    bytes_->all -= held_;
    const auto own = bytes_->ofGroup.find(group_);
    if (own != bytes_->ofGroup.end() && (own->second -= held_) == 0) bytes_->ofGroup.erase(own);
  }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  /// False if all together, or those of the group, would then be too much.
  [[nodiscard]] bool add(std::size_t bytes) {
    std::size_t& ofGroup = bytes_->ofGroup[group_];
    if (bytes_->all + bytes > most_ || ofGroup + bytes > most_ / 2) return false;
    bytes_->all += bytes;
    ofGroup += bytes;
    held_ += bytes;
    return true;
  }

 private:
  const std::shared_ptr<BodyBytes> bytes_;
  const std::string group_;
  const std::size_t most_;
  std::size_t held_{0};
};

}  // namespace tenure::gateway
