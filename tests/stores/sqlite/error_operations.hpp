// The calls of a store whose every step the tests let fail, and how their answers are held against what is stored.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sqlite_support.hpp"

namespace tenure::sqlite_test {

/// What a call answered, in words that fit all calls.
struct Answer {
  enum class Kind { applied, conflict, rejected, unknown, told, error };

  Kind kind;
  std::string text{};      ///< what a read told; for others and for errors: for people
  std::string storedIf{};  ///< of writes: a query that gives 1 if the database has all of it
  std::uint64_t token{0};  ///< of an applied acquisition
};

/// As the database is before the call, which is made on a copy of it.
struct Before {
  RecordVersion version{};
  StoredTokens tokens{};
};

struct ErrorOperation {
  std::string name;
  std::string thread;                                 ///< that does the work
  std::function<void(const std::string&)> prepare{};  ///< makes the database of that path; empty: there is none
  std::function<Answer(Store&, const Before&)> call{};
  std::string told{};  ///< of reads: a query for what they must tell, if they tell anything
  bool opens{true};    ///< false: the connection is open before the call
};

[[nodiscard]] const LeaseKey& errorKey();
[[nodiscard]] const std::vector<ErrorOperation>& errorOperations();

}  // namespace tenure::sqlite_test
