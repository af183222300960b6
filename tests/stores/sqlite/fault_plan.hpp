// Which call fails, and how: for the layers below SQLite (faulty_vfs.hpp, faulty_allocations.hpp) and above it
// (faulty_statements.cpp).
#pragma once

#include <optional>
#include <string>

namespace tenure::sqlite_test {

enum class FaultKind {
  error,       ///< nothing is done
  diskFull,    ///< writes: half of it is written; other calls: the same as error
  afterwards,  ///< the call is carried out, and then reported as failed
  rollsBack,   ///< statements: SQLite ends the transaction by itself, as it does after some errors
};

struct FaultPlan {
  std::string call{};    ///< "read", "write", "sync" ...; empty: every call that changes a file or takes a lock
  std::string thread{};  ///< calls of other threads do not count; empty: all threads
  int nth{1};            ///< from 1
  FaultKind kind{FaultKind::error};
  int code{0};         ///< the error that the caller gets; 0: one that fits the call
  bool sticky{false};  ///< all later ones fail as well
};

struct Failure {
  FaultKind kind;
  int code;
};

/// Replaces the previous plan, if there was one.
void armFault(FaultPlan plan);
/// Nothing fails any more. Returns the call that failed, or nothing.
[[nodiscard]] std::string disarmFault();

/// For the layers: counts a call, and decides whether it fails. `usual`: the code if the plan has none.
[[nodiscard]] std::optional<Failure> failureOf(const char* call, int usual);

}  // namespace tenure::sqlite_test
