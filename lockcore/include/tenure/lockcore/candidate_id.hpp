// A candidate's identity. Records hold a candidate's unique text, `name#incarnation`, and it is compared exactly. The
// name is what people configured and recognise. The incarnation is 128 random bits (32 hex digits), drawn when the
// candidate is made. Two processes with one name, a restarted process or a cloned machine never share a lease.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// Says in one sentence what is wrong with a name; empty if the name may be used. A name is 1..200 bytes of UTF-8
/// without control characters and without '#', and nothing in it is invisible or looks like another character (see
/// faultsOf(const LeaseKey&)).
[[nodiscard]] TENURE_API std::optional<std::string> faultOfCandidateName(std::string_view name);

/// This machine's name; "localhost" if it has none.
[[nodiscard]] TENURE_API std::string hostNameAsCandidate();

/// The name as it was configured, taken out of a holder text, for people: everything before the last '#'.
[[nodiscard]] TENURE_API std::string_view nameOf(std::string_view holderText) noexcept;

/// A holder in a short form by which people recognise it: `name (1a2b3c4d)`, with eight digits of the
/// incarnation. Text that other clients wrote may have any length, so a name of more than 64 bytes is cut.
[[nodiscard]] TENURE_API std::string personOf(std::string_view holderText);

}  // namespace tenure
