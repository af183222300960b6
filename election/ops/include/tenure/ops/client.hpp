// Asks a listener, as `tenure history` does.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/ops/json.hpp>

namespace tenure::ops {

/// Why there is no answer, for people: what was wrong, where, and what to do.
struct AskFault {
  std::string message;
};

/// The body of the answer to `GET target`, which must have status 200, from the listener at this address
/// (ListenerOptions::listen). At most 4 MiB, and at most for this time; blocks.
[[nodiscard]] boost::system::result<std::string, AskFault> askListener(const std::string& listen,
                                                                       const std::string& target,
                                                                       std::chrono::milliseconds patience);

/// What historyJson wrote. Keys that are not known are skipped.
[[nodiscard]] boost::system::result<std::vector<GroupEvents>, AskFault> parseHistory(const std::string& json);

}  // namespace tenure::ops
