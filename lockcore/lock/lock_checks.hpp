// The options of lock clients, checked whole: all faults are told together, and nothing was done.
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

/// An empty `candidate` was filled in before.
[[nodiscard]] OptionFaults faultsOf(const LockClientOptions& options);

/// `client`: whose timing fills in what the call leaves unset. `store`: that is to keep the lock.
[[nodiscard]] boost::system::result<CheckedAcquire, OptionFaults> checked(const LeaseKey& key,
                                                                          const AcquireOptions& options,
                                                                          const LeaseOptions& client,
                                                                          const LeaseStore& store);

}  // namespace tenure
