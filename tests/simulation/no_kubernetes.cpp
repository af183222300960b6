// For builds without the Kubernetes store.
#include <stdexcept>

#include "simulation/sim_kubernetes.hpp"
#include "simulation/simulation.hpp"

namespace tenure::test {

bool hasKubernetes() noexcept { return false; }

std::unique_ptr<SimService> makeSimKubernetes(std::uint64_t /*seed*/) {
  throw std::logic_error{"this build has no Kubernetes store"};
}

}  // namespace tenure::test
