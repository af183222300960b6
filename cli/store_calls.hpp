// Store calls that wait for their answer, for commands that do one thing after the other.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure::cli {

/// Long enough for a busy store, short enough for a person who waits.
inline constexpr std::chrono::seconds storePatience{5};
/// A table in a cloud may take that long to come to be.
inline constexpr std::chrono::seconds schemaPatience{60};
inline constexpr std::chrono::seconds listPatience{120};
/// A wait that is over bounds the program whatever the store does; so much longer may it take to find out, and take
/// back, what an attempt without an answer has left.
inline constexpr std::chrono::milliseconds unansweredTime{250};

[[nodiscard]] StoreStatus ensureSchemaNow(LeaseStore& store, std::chrono::milliseconds patience = schemaPatience);
[[nodiscard]] ReadOutcome readNow(LeaseStore& store, const LeaseKey& key,
                                  std::chrono::milliseconds patience = storePatience);

/// A lease as an operator must see it.
struct LeaseLook {
  std::optional<LeaseRecord> record{};
  std::string warning{};  ///< not empty: what is wrong with its tokens, or that this could not be found out
};
/// An error also where there is no record because its table was dropped: a candidate's read tells it as no record.
[[nodiscard]] StoreResult<LeaseLook> lookNow(LeaseStore& store, const LeaseKey& key);
/// A table may have many rows.
[[nodiscard]] ListOutcome listNow(LeaseStore& store, const std::string& prefix);
[[nodiscard]] WriteOutcome removeNow(LeaseStore& store, const LeaseKey& key, const RecordVersion& version);
[[nodiscard]] StoreResult<StoredTokens> readTokensNow(LeaseStore& store, const LeaseKey& key);
[[nodiscard]] WriteOutcome setTokensNow(LeaseStore& store, const LeaseKey& key, const StoredTokens& expected,
                                        FencingToken token);
[[nodiscard]] WriteOutcome requestStepDownNow(LeaseStore& store, const LeaseKey& key, FencingToken token);

/// The error with its store in front, once.
[[nodiscard]] std::string faultText(const LeaseStore& store, const StoreError& error);

}  // namespace tenure::cli
