// The release of a crashed supervisor's term, by its guard.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "crash_notice.hpp"

namespace tenure::cli {

/// Releases the term in the store of `configuration`, a group's file as effectiveYaml() writes it. Credentials are read
/// anew, because the supervisor's may have expired. Goes on until the term is released, another one has begun, or
/// `left` (until the lease ends by itself) is zero. The caller has the proof that nothing of the term is left.
/// Throws nothing: what goes wrong is told on stderr, and the lease decides. Afterwards the process should end without
/// running destructors (exitAtOnce).
void releaseCrashed(const std::string& configuration, const NoticedTerm& term,
                    const std::function<std::chrono::nanoseconds()>& left) noexcept;

}  // namespace tenure::cli
