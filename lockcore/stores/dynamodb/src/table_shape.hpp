// The table itself: the requests that create it, and whether an existing one can be used. Pure.
#pragma once

#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "layout.hpp"

namespace tenure::dynamodb_store {

[[nodiscard]] std::string describeTableRequest(const Layout& layout);
[[nodiscard]] std::string createTableRequest(const Layout& layout, const DynamoDbTableOptions& options);
[[nodiscard]] std::string pointInTimeRecoveryRequest(const Layout& layout);
[[nodiscard]] std::string enableTtlRequest(const Layout& layout);

enum class TableState { ready, creating };

/// The answer of DescribeTable: whether the table may be used, or an error with everything that is wrong with it.
/// Global tables are refused. An eventually consistent one judges conditions in each region separately, so two regions
/// would both grant the lease. A strongly consistent one has no transactions, which acquisitions need.
[[nodiscard]] StoreResult<TableState> tableStateIn(const Layout& layout, const std::string& where,
                                                   const boost::json::object& body);

/// The attribute that DescribeTimeToLive reports; empty if there is none.
[[nodiscard]] std::string ttlAttributeIn(const boost::json::object& body);

/// Why time to live on this attribute would delete leases; empty if it does not.
[[nodiscard]] std::optional<StoreError> ttlError(const Layout& layout, const std::string& where,
                                                 const std::string& attribute);

}  // namespace tenure::dynamodb_store
