// What DynamoDB's errors mean: their class, and whether the request may have been applied.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "lockcore/aws/json_client.hpp"

namespace tenure::dynamodb_store {

/// One line of the table.
struct ErrorRule {
  std::string_view name;
  ErrorClass errorClass;
  bool maybeApplied;
  std::string_view advice;  ///< for people; may be empty
};

/// The rule for a DynamoDB error name without its namespace; null for a name that is not in the table.
[[nodiscard]] const ErrorRule* ruleOf(std::string_view name) noexcept;

/// What a message is about. The text is made only when there is something to report.
struct CallName {
  const std::string& where;  ///< the store's description
  std::string_view doing;    ///< "renewing"
  const LeaseKey* lease{nullptr};

  /// `dynamodb table locks (...): renewing lease billing`
  [[nodiscard]] std::string text() const;
};

/// A request that was not answered with success.
struct Fault {
  std::string name{};  ///< "ThrottlingException"; empty if DynamoDB itself did not answer
  StoreError error{};
  bool maybeApplied{true};
  boost::json::object body{};  ///< the answer, if it was a JSON object
  bool copiesOut{false};       ///< copies of the request are unanswered; this answer says nothing about them
};
[[noreturn]] void throw_exception_from_error(const Fault& fault, const boost::source_location& where);

using ParsedReply = boost::system::result<boost::json::object, Fault>;

/// The answer of the service as JSON, or what went wrong. A success that is no JSON object, or that names an error, is
/// a fault with an unknown outcome: it is not understood, so it does not count as a success.
[[nodiscard]] ParsedReply parseReply(const CallName& call, const aws::JsonOutcome& outcome);

}  // namespace tenure::dynamodb_store
