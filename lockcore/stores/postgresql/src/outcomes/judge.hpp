// What became of a job, and so of a call: decided from what was seen, by SQLSTATE and severity, never by the wording of
// a message.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>

#include "errors.hpp"
#include "lockcore/stores/postgresql/src/database.hpp"
#include "lockcore/stores/postgresql/src/record_codec.hpp"

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

/// What a write expects of the stored state.
struct Expectation {
  /// Whether the state is as expected; empty: there is no record.
  std::function<bool(const std::optional<LeaseRecord>&)> holds;
  /// The write needs the counter, so it is refused where that is not understood.
  bool needsCounter{false};
  /// The version that the write gives the record. If it is there although the write was refused, an earlier copy of the
  /// write has put it there.
  RecordVersion ownVersion{};
  /// Why a write that met what it expects was refused all the same; empty: no reason is known.
  std::function<std::optional<StoreError>(const Call&, const StoredLease&)> refusal{};
};
[[nodiscard]] Expectation expectationOf(const WriteRequest& request);
[[nodiscard]] Expectation expectationOf(const RecordVersion& version);  ///< of a removal
[[nodiscard]] Expectation expectationOf(FencingToken token);            ///< of a wish that the holder step down

/// The outcome of a write that met a row that it does not change, by the row that was read then. `row` is empty if that
/// was not answered.
[[nodiscard]] WriteOutcome outcomeOfRefused(const Call& call, const Expectation& expectation,
                                            const std::optional<StoredLease>& row);

/// What an operator must know about the token of an acquisition; empty: nothing. `before` is empty if there was no row.
[[nodiscard]] std::string warningOf(const Call& call, const WriteRequest& request,
                                    const std::optional<KnownTokens>& before,
                                    const std::optional<std::string>& presentHistory, FencingToken token);

}  // namespace tenure::postgresql_store
