// The Kubernetes store as it is shipped, over an API server in memory.
#pragma once

#include <cstdint>
#include <memory>

#include "simulation/sim_endpoint.hpp"

namespace tenure::test {

[[nodiscard]] std::unique_ptr<SimService> makeSimKubernetes(std::uint64_t seed);

}  // namespace tenure::test
