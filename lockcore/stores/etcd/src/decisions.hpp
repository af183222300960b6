// What a write does, decided from what is stored. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include <tenure/lockcore/lease_store.hpp>

#include "state.hpp"

namespace tenure::etcd_store {

/// A change of one lease: carried out if the record's key is as it was read, and the counter's too if that is written.
struct Change {
  std::optional<StoredRecord> record{};    ///< written; empty: the key goes, or stays (see `keepsRecord`)
  std::optional<Counter> counter{};        ///< written; empty: it stays as it is
  bool keepsRecord{false};                 ///< only the counter changes
  std::optional<std::string> rawRecord{};  ///< an operator's change of a record that may not be understood
  bool isFirst{false};                     ///< it is decided once more when this is done
  Applied applied{};                       ///< the outcome
};

/// The outcome that needs no write, or the change.
using Decision = std::variant<WriteOutcome, Change>;
using Decide = std::function<Decision(const State&)>;

[[nodiscard]] Decision decideWrite(const std::string& where, const WriteRequest& request, const State& state);
[[nodiscard]] Decision decideRemoval(const RecordVersion& version, const State& state);
[[nodiscard]] Decision decideStepDown(FencingToken token, const State& state);
/// `version`: what the record gets.
[[nodiscard]] Decision decideTokens(const Place& place, const StoredTokens& expected, FencingToken token,
                                    const std::string& version, const State& state);

/// What is stored of the tokens; the place names the record's key.
[[nodiscard]] StoreResult<StoredTokens> tokensOf(const Place& place, const State& state);

}  // namespace tenure::etcd_store
