// What tenure keeps in the data of a leader's record.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/fencing_token.hpp>

namespace tenure {

// One JSON object: `{"tenure":1,"term":41,"address":"10.0.0.5:8080"}`. It outlives the term, because an acquisition
// leaves data as they are. So the address counts only for the term whose fencing token is `term`. Members that are not
// named here belong to other parts, and are kept. Data that are no such object, or one of a later version, belong to
// somebody else: they state no address, and are not replaced.

/// 1 to 256 printable characters of ASCII without spaces.
[[nodiscard]] bool isLeaderAddress(std::string_view text) noexcept;

/// Where the leader of this term can be reached, as its record's data state it; empty: they do not.
[[nodiscard]] std::string addressIn(const std::string& data, FencingToken term);

/// The same data with this address. Empty: they are somebody else's.
[[nodiscard]] std::optional<std::string> withAddress(const std::string& data, FencingToken term,
                                                     const std::string& address);

}  // namespace tenure
