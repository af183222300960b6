// The etcd store as it is shipped, over a cluster in memory.
#pragma once

#include <cstdint>
#include <memory>

#include "simulation/sim_endpoint.hpp"

namespace tenure::test {

[[nodiscard]] std::unique_ptr<SimService> makeSimEtcd(std::uint64_t seed);

}  // namespace tenure::test
