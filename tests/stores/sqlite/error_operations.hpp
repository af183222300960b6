// The calls of a store whose every step the tests make fail, and how their answers are compared with the stored data.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lockcore/port/extended_store.hpp"
#include "sqlite_support.hpp"

namespace tenure::sqlite_test {

/// The answer of a call, in a form that fits all calls.
struct Answer {
  enum class Kind { applied, conflict, rejected, unknown, told, error };

  Kind kind;
  std::string text{};      ///< the result of a read; for other calls and for errors: a text for people
  std::string storedIf{};  ///< for writes: a query that gives 1 if the database contains the whole write
  std::uint64_t token{0};  ///< of an applied acquisition
};

/// The database before the call; the call uses a copy of it.
struct Before {
  RecordVersion version{};
  StoredTokens tokens{};
};

struct ErrorOperation {
  std::string name;
  std::string thread;                                 ///< the thread that does the work
  std::function<void(const std::string&)> prepare{};  ///< makes the database of that path; empty: there is none
  std::function<Answer(Store&, const Before&)> call{};
  std::string told{};  ///< for reads: a query for what they must report, if they report anything
  bool opens{true};    ///< false: the connection is open before the call
};

[[nodiscard]] const LeaseKey& errorKey();
[[nodiscard]] const std::vector<ErrorOperation>& errorOperations();

}  // namespace tenure::sqlite_test
