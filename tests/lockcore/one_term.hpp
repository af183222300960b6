// A machine that competes for one term only, as locks do.
#pragma once

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {

inline OneTerm patient(std::optional<std::chrono::nanoseconds> patience, bool mustExist = false) {
  return {patience, mustExist, nullptr};
}

}  // namespace tenure::test
