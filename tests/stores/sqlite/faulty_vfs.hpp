// A layer between SQLite and its files that makes the n-th operation fail.
#pragma once

#include <string>

#include "fault_plan.hpp"

namespace tenure::sqlite_test {

/// While an object lives, connections that are opened without naming a VFS use the layer; "unix" names the VFS below
/// it. One object at a time.
class FaultyVfs {
 public:
  using Fault = FaultKind;

  enum class Syncs {
    done,
    counted,  ///< nothing goes to the disk: fast, and unsynced() shows what a power failure would have lost
  };

  explicit FaultyVfs(Syncs syncs = Syncs::done);
  ~FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;

  /// From now on, operation number `nth` (from 1) of a store's writer thread fails, and if `sticky` all later ones.
  void arm(int nth, Fault fault, bool sticky);
  void arm(FaultPlan plan) { armFault(std::move(plan)); }
  /// Nothing fails any more. Returns which operation failed, if one did.
  [[nodiscard]] std::string disarm() { return disarmFault(); }

  /// What the files say was the errno of their last failure; 0: what they remember.
  void tellErrno(int ofDatabase, int ofLog);

  /// The files that were written through the layer after they were last synced.
  [[nodiscard]] std::string unsynced() const;
};

}  // namespace tenure::sqlite_test
