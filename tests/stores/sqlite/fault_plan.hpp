// Which call is to fail, and how: for the layers below SQLite (faulty_vfs.hpp, faulty_allocations.hpp) and above it
// (faulty_statements.cpp).
#pragma once

#include <optional>
#include <string>

namespace tenure::sqlite_test {

enum class FaultKind {
  error,       ///< nothing is done
  diskFull,    ///< writes: half of it is written; other calls: as error
  afterwards,  ///< the call is done, and then reported as failed
  rollsBack,   ///< statements: SQLite ends the transaction by itself, as it does after some errors
};

struct FaultPlan {
  std::string call{};    ///< "read", "write", "sync" ...; empty: whatever changes a file or takes a lock
  std::string thread{};  ///< calls of other threads do not count; empty: all threads
  int nth{1};            ///< from 1
  FaultKind kind{FaultKind::error};
  int code{0};         ///< what the caller is told; 0: what fits the call
  bool sticky{false};  ///< all later ones fail as well
};

struct Failure {
  FaultKind kind;
  int code;
};

/// In place of the plan before, if there was one.
void armFault(FaultPlan plan);
/// Nothing fails any more; the call that did, or nothing.
[[nodiscard]] std::string disarmFault();

/// For the layers: counts a call, and says whether it is to fail. `usual`: the code if the plan has none.
[[nodiscard]] std::optional<Failure> failureOf(const char* call, int usual);

}  // namespace tenure::sqlite_test
