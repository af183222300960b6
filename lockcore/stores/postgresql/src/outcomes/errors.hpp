// What an SQLSTATE means for a lease, and what somebody has to do about it.
#pragma once

#include <string>
#include <string_view>

#include <tenure/lockcore/store_error.hpp>

#include "lockcore/stores/postgresql/src/database.hpp"

namespace tenure::postgresql_store {

/// Where a call went, and what it was about: `renewing lease "billing"`.
struct Call {
  std::string store;   ///< LeaseStore::describe()
  std::string schema;  ///< as in the options
  std::string table;
  std::string doing;
};

/// The class of trouble by SQLSTATE, with advice for people. A code that is not listed counts by its class, which is
/// its first two letters.
struct StateRule {
  std::string_view state;
  ErrorClass errorClass;
  /// `{table}` stands for the name of the table.
  std::string_view advice;
};

[[nodiscard]] const StateRule& ruleOf(std::string_view sqlState) noexcept;

/// Whether a refusal may come from the functions that tell the server's history: they are missing, or are refused. A
/// standby refuses them as well.
[[nodiscard]] bool mayLackHistory(const Complaint& complaint) noexcept;

[[nodiscard]] StoreError errorOf(const Call& call, const Complaint& complaint);
/// There was no answer, or no connection.
[[nodiscard]] StoreError errorOf(const Call& call, JobReply::Cause cause, const std::string& trouble);
/// Of a write that was committed and answered without a fencing token that can be one.
[[nodiscard]] StoreError errorOfToken(const Call& call);

}  // namespace tenure::postgresql_store
