#include <chrono>

#include <fmt/format.h>

#include <tenure/config/group_config.hpp>
#include <tenure/lockcore/lease_options.hpp>

#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "cli/store_calls.hpp"
#include "commands.hpp"
#include "config/src/duration.hpp"
#include "config_file.hpp"

namespace tenure::cli {
namespace {

int connect(const LeaseOfGroup& lease) {
  if (const StoreStatus ready = ensureSchemaNow(*lease.store); !ready) {
    complain(faultText(*lease.store, ready.error()));
    return exitStore;
  }
  if (const ReadOutcome record = readNow(*lease.store, lease.key); !record) {
    complain(faultText(*lease.store, record.error()));
    return exitStore;
  }
  return exitOk;
}

}  // namespace

int checkCommand(const CheckArguments& arguments) {
  const auto config = loadOrComplain(arguments.config);
  if (!config) return exitUsage;
  const LeaseOfGroup lease = leaseOf(*config);
  if (arguments.connect) {
    if (const int code = connect(lease); code != exitOk) return code;
  }
  if (arguments.effective) return say(effectiveYaml(*config)) ? exitOk : exitFailed;
  const LeaseTiming timing = LeaseTiming::from(config->options.lease).value();
  const std::string line =
      fmt::format("{}: OK: group {}, lease {}, heartbeat {}, store {}{}\n", arguments.config, config->options.group,
                  durationText(timing.duration()), durationText(timing.heartbeat()), lease.store->describe(),
                  arguments.connect ? ", which is reached and ready" : "");
  return say(line) ? exitOk : exitFailed;
}

}  // namespace tenure::cli
