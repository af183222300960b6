// What is logged of the looks at the pods.
#pragma once

#include <iterator>
#include <set>
#include <string>
#include <utility>

#include <tenure/lockcore/logger.hpp>

#include "pod_keeper.hpp"

namespace tenure::pod_label {

/// Each kind of error once, and that it is over. For one thread.
class RoutingLog {
 public:
  explicit RoutingLog(Logger logger) : logger_{std::move(logger)} {}

  void take(const Report& report, FencingToken token) {
    for (const Change& change : report.done) {
      logger_.log(LogLevel::info,
                  change.leads
                      ? "pod " + change.pod + " has the label of the leader, with fencing token " + toString(token)
                      : "pod " + change.pod + " no longer has the label of the leader");
    }
    if (report.error) {
      if (told_.insert(kindOf(*report.error)).second)
        logger_.log(LogLevel::warn, "routing: " + report.error->message + ". The election continues");
    } else if (!told_.empty()) {
      told_.clear();
      logger_.log(LogLevel::info, "routing: works again");
    }
  }

 private:
  /// Without numbers, which change from one error to the next.
  [[nodiscard]] static std::string kindOf(const StoreError& error) {
    std::string kind{toString(error.errorClass)};
    std::copy_if(error.message.begin(), error.message.end(), std::back_inserter(kind),
                 [](char c) { return c < '0' || c > '9'; });
    return kind;
  }

  const Logger logger_;
  std::set<std::string> told_{};
};

}  // namespace tenure::pod_label
