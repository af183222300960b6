// What the row of a lease says of a term that wants to write.
#pragma once

#include <string>

#include <tenure/lockcore/fence.hpp>

#include "connection.hpp"

namespace tenure::postgresql_fence {

/// Judges answers with the columns token, holder, released and counter of the lease's row.
class LeaseRowCheck {
 public:
  /// The references must outlive the check. `table`: for people.
  LeaseRowCheck(const Connection& connection, const TermStamp& stamp, std::string table)
      : connection_{connection}, stamp_{stamp}, table_{std::move(table)} {}

  /// Whether the answer has one row, which shows this term, is not released, and announces no takeover.
  [[nodiscard]] bool proves(const PGresult* answer) const;
  /// Why the term may not write. The answer is one that proves nothing.
  [[nodiscard]] FenceError errorOf(const PGresult* answer) const;

 private:
  [[nodiscard]] FenceError over(const std::string& why) const;
  [[nodiscard]] FenceError stale(FencingToken later) const;
  [[nodiscard]] bool announcesTakeover(const PGresult* row) const;
  [[nodiscard]] FenceError ended(const PGresult* row) const;
  [[nodiscard]] std::string refused() const;

  const Connection& connection_;
  const TermStamp& stamp_;
  std::string table_;
};

}  // namespace tenure::postgresql_fence
