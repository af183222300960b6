// What a register with conditional writes must answer to requests that come one at a time.
#pragma once

#include <optional>
#include <string>

#include "lockcore/port/lease_store.hpp"

namespace tenure::test {

/// Nobody but the caller may write to the register. After an answer that leaves open what was done it judges nothing
/// until it has seen a record again.
class RegisterModel {
 public:
  /// Each says what is wrong with the answer; empty: nothing.
  [[nodiscard]] std::string judge(const ReadOutcome& answer);
  [[nodiscard]] std::string judge(const WriteRequest& request, const WriteOutcome& answer);

 private:
  struct State {
    std::optional<LeaseRecord> record{};
    [[nodiscard]] std::string version() const { return record ? record->version.text() : std::string{}; }
    [[nodiscard]] std::string holder() const { return record ? record->holder : std::string{}; }
  };
  [[nodiscard]] bool admits(const WriteRequest& request) const;
  [[nodiscard]] std::string judge(const WriteRequest& request, const Applied& applied);
  [[nodiscard]] std::string judge(const WriteRequest& request, const Conflict& conflict);
  [[nodiscard]] std::string see(const std::optional<LeaseRecord>& shown);

  std::optional<State> stored_{};  ///< empty: not known
  FencingToken highest_{};
};

}  // namespace tenure::test
