// For builds without the etcd store.
#include <stdexcept>

#include "simulation/sim_etcd.hpp"
#include "simulation/simulation.hpp"

namespace tenure::test {

bool hasEtcd() noexcept { return false; }

std::unique_ptr<SimService> makeSimEtcd(std::uint64_t /*seed*/) {
  throw std::logic_error{"this build has no etcd store"};
}

}  // namespace tenure::test
