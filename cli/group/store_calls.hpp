// Store calls that wait for their answer, for commands that do one thing after another.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include "cli/text/exit_codes.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/file_access.hpp"

namespace tenure::cli {

/// Long enough for a busy store, short enough for a person who waits.
inline constexpr std::chrono::seconds storePatience{5};
/// The creation of a table in a cloud may take that long.
inline constexpr std::chrono::seconds schemaPatience{60};
inline constexpr std::chrono::seconds listPatience{120};
/// A wait that is over ends the program whatever the store does. This much more time may be used to find out, and take
/// back, what an unanswered attempt has left.
inline constexpr std::chrono::milliseconds unansweredTime{250};

/// For a look within a wait of which so much is left.
[[nodiscard]] inline std::chrono::milliseconds lookPatience(std::chrono::nanoseconds left) {
  using std::chrono::milliseconds;
  return std::clamp<milliseconds>(std::chrono::floor<milliseconds>(left), milliseconds{200}, storePatience);
}

/// Calls what makes something of the store's section. Ends the program with exitStore if a file that the section names
/// is broken, and with `codeHere` if the store can only be used elsewhere, or later (UnusableHere).
template <class Make>
[[nodiscard]] auto madeOrEnd(int codeHere, const Make& make) {
  try {
    return make();
  } catch (const UnusableHere& here) {
    throw EndWith{here.what(), codeHere};
  } catch (const std::system_error&) {
    throw;  // this process lacks something, not the store
  } catch (const std::runtime_error& broken) {
    throw EndWith{broken.what(), exitStore};
  }
}

[[nodiscard]] StoreStatus ensureSchemaNow(LeaseStore& store, std::chrono::milliseconds patience = schemaPatience);
[[nodiscard]] ReadOutcome readNow(LeaseStore& store, const LeaseKey& key,
                                  std::chrono::milliseconds patience = storePatience);

/// A lease as an operator must see it.
struct LeaseLook {
  std::optional<LeaseRecord> record{};
  std::string warning{};  ///< not empty: what is wrong with its tokens, or that this could not be found out
};
/// An error also if there is no record because its table was dropped: for a candidate's read that is just no record.
[[nodiscard]] StoreResult<LeaseLook> lookNow(LeaseStore& store, const LeaseKey& key);
/// Has more time, because a table may have many rows.
[[nodiscard]] ListOutcome listNow(LeaseStore& store, const std::string& prefix);
[[nodiscard]] WriteOutcome writeNow(LeaseStore& store, WriteRequest request,
                                    std::chrono::milliseconds patience = storePatience);
[[nodiscard]] WriteOutcome removeNow(LeaseStore& store, const LeaseKey& key, const RecordVersion& version);
[[nodiscard]] StoreResult<StoredTokens> readTokensNow(LeaseStore& store, const LeaseKey& key);
[[nodiscard]] WriteOutcome setTokensNow(LeaseStore& store, const LeaseKey& key, const StoredTokens& expected,
                                        FencingToken token);
[[nodiscard]] WriteOutcome requestStepDownNow(LeaseStore& store, const LeaseKey& key, const StepDownRequest& request,
                                              std::chrono::milliseconds patience);

/// The error with its store's name in front, only once.
[[nodiscard]] std::string faultText(const LeaseStore& store, const StoreError& error);

}  // namespace tenure::cli
