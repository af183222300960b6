// What became of a job, and so of a call: decided from what was seen, by SQLSTATE and severity, never by the wording of
// a message.
#pragma once

#include <optional>

#include "errors.hpp"
#include "lockcore/port/lease_store.hpp"
#include "lockcore/stores/postgresql/src/database.hpp"

namespace tenure::postgresql_store {

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
