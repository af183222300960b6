// Randomness that is the same in each run.
#pragma once

#include <cstdint>
#include <random>

#include <tenure/lockcore/runtime.hpp>

namespace tenure::test {

class Seeded final : public RandomSource {
 public:
  explicit Seeded(std::uint64_t seed) : engine_{seed} {}
  std::uint64_t next() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tenure::test
