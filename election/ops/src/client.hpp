// Asks a listener, as `tenure history` does.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/ops/snapshot.hpp>

namespace tenure::ops {

/// Why there is no answer, for people: what was wrong, where, and what to do.
struct AskFault {
  std::string message;
};
/// Makes `result<T, AskFault>::value()` throw std::runtime_error with the message.
[[noreturn]] TENURE_API void throw_exception_from_error(const AskFault& fault, const boost::source_location& where);

/// The body of the answer to `GET target`, which must have status 200, from the listener at this address
/// (ListenerOptions::listen). At most 4 MiB, and at most for this time; blocks.
[[nodiscard]] TENURE_API boost::system::result<std::string, AskFault> askListener(const std::string& listen,
                                                                                  const std::string& target,
                                                                                  std::chrono::milliseconds patience);

/// Of one elector, what statusJson wrote and people want to see.
struct ElectorSummary {
  std::string group{};
  std::string candidate{};
  std::string store{};
  std::string state{};
  bool observes{false};
  bool leads{false};  ///< at the moment of the answer
  bool inDoubt{false};
  bool unready{false};   ///< it was told not to compete
  FencingToken token{};  ///< of this process's term; none: it does not lead
  std::chrono::milliseconds remaining{0};
  std::chrono::milliseconds leaseDuration{0};
  std::string leader{};  ///< its name; empty: no leader is known
  FencingToken leaderToken{};
  bool leaderIsSelf{false};
  std::string error{};  ///< the last error, as long as it counts
  std::int64_t terms{0};
  std::int64_t doubts{0};
  std::int64_t refusals{0};
};

/// What statusJson wrote. Keys that are not known are skipped.
[[nodiscard]] TENURE_API boost::system::result<std::vector<ElectorSummary>, AskFault> parseStatus(
    const std::string& json);

/// What historyJson wrote. Keys that are not known are skipped.
[[nodiscard]] TENURE_API boost::system::result<std::vector<GroupEvents>, AskFault> parseHistory(
    const std::string& json);

}  // namespace tenure::ops
