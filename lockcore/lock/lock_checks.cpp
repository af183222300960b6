#include <string>

#include <tenure/lockcore/candidate_id.hpp>

#include "lock_client_impl.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t mostRemembered = 1'000'000;

void checkRange(OptionFaults& faults, const char* field, std::optional<milliseconds> value, milliseconds low,
                milliseconds high) {
  if (!value || (*value >= low && *value <= high)) return;
  faults.push_back({field, std::to_string(value->count()) + "ms is out of range; allowed is " +
                               std::to_string(low.count()) + "ms to " + std::to_string(high.count()) + "ms"});
}

void append(OptionFaults& faults, const boost::system::result<LeaseTiming, OptionFaults>& timing) {
  if (timing.has_value()) return;
  const OptionFaults more = timing.error();  // each call returns a copy: two calls give no range
  faults.insert(faults.end(), more.begin(), more.end());
}

}  // namespace

OptionFaults faultsOf(const LockClientOptions& options) {
  OptionFaults faults;
  if (auto fault = faultOfCandidateName(options.candidate)) faults.push_back({"candidate", *std::move(fault)});
  append(faults, LeaseTiming::from(options.lease));
  if (options.lease.progressTimeout) {
    faults.push_back(
        {"lease.progressTimeout", "is not for locks; a lock's work calls Lock::ensure() where it matters"});
  }
  if (options.remembered > mostRemembered) {
    faults.push_back({"remembered", std::to_string(options.remembered) + " is out of range; allowed is 0 to " +
                                        std::to_string(mostRemembered)});
  }
  return faults;
}

boost::system::result<CheckedAcquire, OptionFaults> checked(const LeaseKey& key, const AcquireOptions& options,
                                                            const LeaseOptions& client, LeaseStore& store) {
  OptionFaults faults;
  for (std::string& fault : faultsOf(key)) faults.push_back({"key", std::move(fault)});
  LeaseOptions lease = client;
  if (options.lease) {
    lease.duration = *options.lease;
    lease.heartbeat.reset();
  }
  if (options.heartbeat) lease.heartbeat = options.heartbeat;
  const auto timing = LeaseTiming::from(lease);
  append(faults, timing);
  checkRange(faults, "waitFor", options.waitFor, milliseconds{0}, maxLeaseDuration);
  checkRange(faults, "poll", options.poll, milliseconds{10}, maxLeaseDuration);
  checkRange(faults, "maxConsecutiveHold", options.maxConsecutiveHold, milliseconds{0}, maxLeaseDuration);
  checkRange(faults, "yieldFor", options.yieldFor, milliseconds{0}, maxLeaseDuration);
  if (options.yieldFor && !options.maxConsecutiveHold) {
    faults.push_back(
        {"yieldFor", "is given without maxConsecutiveHold; give how long this process may keep the lock to itself"});
  }
  if (options.manualHeartbeat && options.heartbeat) {
    faults.push_back({"heartbeat", "is given together with manualHeartbeat; give one of them"});
  }
  for (OptionFault& fault : payloadFaults(store, key, options.data.value_or(""), options.attributes)) {
    faults.push_back(std::move(fault));
  }
  if (!faults.empty()) return faults;
  return CheckedAcquire{lease, *timing};
}

}  // namespace tenure
