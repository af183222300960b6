// The command that runs the same run again.
#include "simulation/simulation.hpp"

namespace tenure::test {

std::string replayCommand(const SimOptions& options) {
  std::string out = "tenure-sim --seed " + std::to_string(options.seed);
  if (options.mode != SimMode::drawn) out += " --mode " + std::string{toString(options.mode)};
  if (options.store != StoreKind::drawn) out += " --store " + std::string{toString(options.store)};
  if (options.candidates != 0) out += " --candidates " + std::to_string(options.candidates);
  if (options.leases != SimOptions{}.leases) out += " --leases " + std::to_string(options.leases);
  if (!options.allowed.all()) out += " --faults " + toString(options.allowed);
  if (options.canary) out += " --canary";
  return out + " --trace";
}

}  // namespace tenure::test
