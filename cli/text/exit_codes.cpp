#include "exit_codes.hpp"

namespace tenure::cli {

int exitCodeOf(const LockError& error) {
  switch (error.code) {
    case LockErrc::malformed:
    case LockErrc::invalidOptions:
      return exitUsage;
    case LockErrc::held:
      return exitBusy;
    case LockErrc::timeout:
      return exitNotYet;
    case LockErrc::unknown:
      return exitUnknown;
    case LockErrc::notHeld:
    case LockErrc::superseded:
    case LockErrc::lost:
      return exitLost;
    case LockErrc::storeUnavailable:
    case LockErrc::accessDenied:
    case LockErrc::storeMisconfigured:
    case LockErrc::recordCorrupt:
      return exitStore;
    default:
      return exitFailed;
  }
}

}  // namespace tenure::cli
