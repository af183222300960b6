// A layer between SQLite and its files that lets the n-th operation fail.
#pragma once

#include <string>

namespace tenure::sqlite_test {

/// While an object lives, connections that are opened without naming a VFS go through the layer; "unix" names the one
/// below. Only operations of a store's writer thread count.
class FaultyVfs {
 public:
  enum class Fault {
    error,      ///< SQLITE_IOERR of the kind that fits; nothing is done
    diskFull,   ///< writes: half of it is written, then SQLITE_FULL; other operations: as error
    afterwards  ///< the operation is done, and then reported as failed
  };

  FaultyVfs();
  ~FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;

  /// From now on, the operation number `nth` (from 1) fails, and if `sticky` all later ones.
  void arm(int nth, Fault fault, bool sticky);
  /// Nothing fails any more; whether anything did, and what that was.
  [[nodiscard]] std::string disarm();
};

}  // namespace tenure::sqlite_test
