// What a store holds of a lease's tokens, for an operator who looks at them or sets them right.
#pragma once

#include <chrono>
#include <string>

namespace tenure {

/// The texts are as they are stored, also where they are malformed: a token may be too great for one, which is why the
/// lease cannot be read in the ordinary way. Two that are equal: nobody has written the record or the counter between.
struct StoredTokens {
  std::string counter{};               ///< empty: there is no counter
  std::string copy{};                  ///< the record's token; empty: there is no record
  std::string version{};               ///< the record's RVN
  std::string holder{};                ///< the record's
  bool released{false};                ///< the record's
  std::chrono::milliseconds lease{0};  ///< the longest that record and counter state; 0: neither states one

  [[nodiscard]] bool hasRecord() const noexcept { return !version.empty(); }

  friend bool operator==(const StoredTokens&, const StoredTokens&) = default;
};

/// How the record's token and the counter disagree, for people; empty: they do not. Every acquisition of tenure's
/// writes both in one step, so they differ only where somebody else wrote. A record without a token, which another
/// client wrote, agrees with any counter.
[[nodiscard]] std::string disagreementIn(const StoredTokens& tokens);

}  // namespace tenure
