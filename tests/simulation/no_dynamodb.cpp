// For builds without the DynamoDB store.
#include <stdexcept>

#include "simulation/sim_endpoint.hpp"

namespace tenure::test {

std::unique_ptr<SimService> makeSimDynamoDb() { throw std::logic_error{"this build has no DynamoDB store"}; }

}  // namespace tenure::test
