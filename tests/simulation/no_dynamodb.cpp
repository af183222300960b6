// For builds without the DynamoDB store.
#include <stdexcept>

#include "simulation/sim_endpoint.hpp"
#include "simulation/simulation.hpp"

namespace tenure::test {

bool hasDynamoDb() noexcept { return false; }

std::unique_ptr<SimService> makeSimDynamoDb() { throw std::logic_error{"this build has no DynamoDB store"}; }

}  // namespace tenure::test
