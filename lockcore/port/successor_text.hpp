// Whom a record names as successor, as one text, which stores keep in a place that older releases leave alone.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure {

/// A user's attribute must not have this name.
inline constexpr std::string_view successorAttribute = "tenureSuccessor";

/// `term heartbeat name`, such as `42 3333 billing-b`; empty if nobody is named. The term is part of it, because a
/// release that does not know the text leaves it behind when it acquires the lease.
[[nodiscard]] TENURE_API std::string successorText(const Successor& successor, FencingToken term);

/// Nobody for anything else, and for another term: it only delays others, so a text that makes no sense is none.
[[nodiscard]] TENURE_API Successor successorFrom(std::string_view text, FencingToken term);

/// The same among the attributes, for stores that have no better place.
[[nodiscard]] TENURE_API std::map<std::string, std::string> attributesWithSuccessor(const LeaseRecord& record);
/// Takes it out of the record's attributes, as they were stored.
TENURE_API void takeSuccessor(LeaseRecord& record);

}  // namespace tenure
