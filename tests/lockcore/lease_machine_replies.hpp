// Each request x each answer that a store can give: what the tests of that share.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {

inline constexpr ErrorClass errorClasses[] = {ErrorClass::transient, ErrorClass::throttled, ErrorClass::credentials,
                                              ErrorClass::misconfigured, ErrorClass::corrupt};

/// What the machine reports after an answer, in one line.
inline std::string told(MachineHarness& m, const WriteOutcome& outcome) {
  const std::string actions = m.answerWrite(outcome);
  return std::string{toString(m.state())} + ": " + actions;
}

inline std::string told(MachineHarness& m, const ReadOutcome& outcome) {
  const std::string actions = m.answerRead(outcome);
  return std::string{toString(m.state())} + ": " + actions;
}

}  // namespace tenure::test
