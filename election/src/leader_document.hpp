// What tenure keeps in the data of a leader's record.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/lease/lease_machine.hpp"

namespace tenure {

// One JSON object: `{"tenure":1,"term":41,"address":"10.0.0.5:8080","priority":10}`. It outlives the term, because an
// acquisition leaves data as they are. So address and priority count only for the term whose fencing token is `term`.
// Members that are not named here belong to other parts, and are kept. Data that are no such object, one of a later
// version, longer than maxLeaderDocumentBytes, or not spelled as this library writes them (a member that comes twice,
// blanks), belong to somebody else: they state nothing, and are not replaced.

/// Each look at a record reads its document, on the thread that renews. There is room for the ledgers of all jobs.
inline constexpr std::size_t maxLeaderDocumentBytes = 264 * 1024;

/// 1 to 256 printable characters of ASCII without spaces.
[[nodiscard]] bool isLeaderAddress(std::string_view text) noexcept;

/// What the leader of this term states in its record's data. A part that no leader could state counts as not stated.
[[nodiscard]] TENURE_API LeaderStatement statementIn(const std::string& data, FencingToken term);

/// The same data with this statement in place of any other. Empty: they are somebody else's.
[[nodiscard]] std::optional<std::string> withStatement(const std::string& data, FencingToken term,
                                                       const LeaderStatement& statement);

/// The document's members, for the parts that have one there. Empty: the data are somebody else's.
[[nodiscard]] TENURE_API std::optional<boost::json::object> membersOfDocument(const std::string& data);

}  // namespace tenure
