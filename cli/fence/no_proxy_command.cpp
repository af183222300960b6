#include "cli/commands.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"

namespace tenure::cli {

int fenceProxyCommand(const FenceProxyArguments& /*arguments*/, const SignalState& /*signals*/) {
  complain("this tenure was built without the fence for HTTP services (TENURE_WITH_HTTP_FENCE=OFF)");
  return exitUsage;
}

}  // namespace tenure::cli
