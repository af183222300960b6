// Checks the options of lock clients completely: all faults are reported together, before anything is done.
#pragma once

#include <boost/system/result.hpp>

#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/lock_options.hpp>

namespace tenure {

struct CheckedAcquire {
  LeaseOptions lease;
  LeaseTiming timing;
};

/// An empty `candidate` must have been filled in before.
[[nodiscard]] OptionFaults faultsOf(const LockClientOptions& options);

/// `client`: its timing fills in what the call leaves unset. `store`: the store that is to keep the lock.
[[nodiscard]] boost::system::result<CheckedAcquire, OptionFaults> checked(const LeaseKey& key,
                                                                          const AcquireOptions& options,
                                                                          const LeaseOptions& client,
                                                                          const LeaseStore& store);

}  // namespace tenure
