// The release of a crashed supervisor's term, by its guard.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "crash_notice.hpp"

namespace tenure::cli {

/// The store is that of `configuration`, a group's file as effectiveYaml() writes it. Credentials are read anew,
/// because the supervisor's may have expired. What goes wrong is told on stderr, and the lease decides. Afterwards the
/// process must end by exitAtOnce: a store that waits for a disk must not keep it.
class CrashRelease {
 public:
  /// Makes the store and reads the record on another thread, while what is left of the job is being ended.
  CrashRelease(const std::string& configuration, const NoticedTerm& term);

  /// The caller has the proof that nothing of the term is left. Tries until the term is released, another one has
  /// begun, or `left` (until the lease expires) is zero.
  void release(const std::function<std::chrono::nanoseconds()>& left) noexcept;

 private:
  class Attempts;

  std::future<std::shared_ptr<Attempts>> prepared_;
};

}  // namespace tenure::cli
