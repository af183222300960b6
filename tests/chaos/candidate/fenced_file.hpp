// fenced.db and unfenced.db, as both jobs use them.
#pragma once

#include <functional>
#include <random>
#include <string>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/election/leadership.hpp>

#include "database.hpp"
#include "event_log.hpp"
#include "jobs.hpp"

namespace tenure::chaos {

enum class Written {
  done,
  error,    ///< nothing was written, or nobody knows
  refused,  ///< the fence refused it
};

class FencedFile {
 public:
  FencedFile(const std::string& directory, const std::string& setUp);

  [[nodiscard]] sqlite3* plain() const noexcept { return unfenced_.get(); }

  /// Runs it in one transaction with the check of the token; reports errors as events.
  [[nodiscard]] Written write(const Leadership& term, const EventLog& events, const std::function<int(sqlite3*)>& work);

 private:
  Database fenced_, unfenced_;
  SqliteFence fence_;
};

/// Waits a random part of `most`.
class Dawdler {
 public:
  explicit Dawdler(std::chrono::milliseconds most) : most_{most} {}
  void wait();

 private:
  std::chrono::milliseconds most_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace tenure::chaos
