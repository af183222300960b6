#include "commands/commands.hpp"
#include "exit_codes.hpp"
#include "output.hpp"

namespace tenure::cli {

int fenceProxyCommand(const FenceProxyArguments& /*arguments*/) {
  complain("this tenure was built without the fence for HTTP services (TENURE_WITH_HTTP_FENCE=OFF)");
  return exitUsage;
}

}  // namespace tenure::cli
