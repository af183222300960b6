// What became of a job, and so of a call: decided from what was seen, by SQLSTATE and severity, never by the wording of
// a message.
#pragma once

#include <optional>
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

/// The class of an error by SQLSTATE, with advice for people. A code that is not listed counts by its class, which is
/// its first two letters.
struct StateRule {
  std::string_view state;
  ErrorClass errorClass;
  /// `{table}` stands for the name of the table.
  std::string_view advice;
};

[[nodiscard]] const StateRule& ruleOf(std::string_view sqlState) noexcept;

/// Whether a rejection may come from the functions that tell the server's history: they are missing, or are refused. A
/// standby refuses them as well.
[[nodiscard]] bool mayLackHistory(const ServerError& serverError) noexcept;

[[nodiscard]] StoreError errorOf(const Call& call, const ServerError& serverError);
/// There was no answer, or no connection.
[[nodiscard]] StoreError errorOf(const Call& call, JobReply::Cause cause, const std::string& why);
/// Of a write that was committed and answered without a fencing token that can be one.
[[nodiscard]] StoreError errorOfToken(const Call& call);

enum class Fate {
  committed,   ///< durable as the commit mode asks for
  notApplied,  ///< certainly, now and later
  unknown,
};

struct Verdict {
  Fate fate{Fate::unknown};
  StoreError error{};  ///< unless it is committed
};

/// Of a transaction that writes. It is certainly not applied only if no byte of its COMMIT left, or the server says
/// that it has rolled back. A COMMIT that came with a WARNING is unknown: this is how the server tells that it has
/// stopped waiting for a synchronous standby.
[[nodiscard]] Verdict verdictOnWrite(const Call& call, const JobReply& reply);

/// Of a job that only reads: empty if all of it was answered.
[[nodiscard]] std::optional<StoreError> faultOfRead(const Call& call, const JobReply& reply);

/// Whether a job may be sent again at once without the history functions: the server may have refused them alone, and
/// nothing was applied.
[[nodiscard]] bool mayGoWithoutHistory(const Job& job, const JobReply& reply) noexcept;

/// Of a write that locks the row first: whether somebody had locked it.
[[nodiscard]] bool wasKeptOut(const JobReply& reply) noexcept;

}  // namespace tenure::postgresql_store
