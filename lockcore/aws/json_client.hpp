// Internal: signed calls to an AWS service that speaks JSON, such as DynamoDB.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include <boost/system/result.hpp>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::aws {

/// The service answered, possibly with an error of its own (status 400 and above).
struct JsonReply {
  int status{0};
  std::string body{};
  std::string requestId{};  ///< x-amzn-RequestId, for messages
  bool copiesOut{false};    ///< copies of the request are unanswered, and may still be carried out
};

/// The service did not answer. `error.errorClass` is `credentials` if there were no valid credentials, `misconfigured`
/// for an invalid region or endpoint and for a reply that is too long, else `transient`.
struct JsonCallError {
  StoreError error;
  bool maybeSent{true};  ///< false: the service cannot have seen the request
};
[[noreturn]] void throw_exception_from_error(const JsonCallError& error, const boost::source_location& where);

using JsonOutcome = boost::system::result<JsonReply, JsonCallError>;
using JsonHandler = std::function<void(JsonOutcome)>;

/// Thread-safe. Implementations: makeJsonClient() (HTTP, Signature Version 4, the credential chain); tests have their
/// own.
class JsonClient {
 public:
  virtual ~JsonClient() = default;

  /// `target`: the X-Amz-Target header, "DynamoDB_20120810.UpdateItem". Returns at once. The handler is called exactly
  /// once, on a thread of the client, never inside the call; with an error if the client is destroyed first. It makes
  /// one attempt, with one exception: a reply may prove that the request was refused unread because of its signature
  /// (ExpiredToken, a clock that is wrong). Then one further, newly signed request follows within the same time.
  virtual void call(std::string target, std::string body, std::chrono::nanoseconds timeout, JsonHandler handler) = 0;

  /// As call(), for a request of which the service may get several copies, on several connections. Use it only for
  /// requests whose answer says what the record is, whichever copy was carried out. Packets that a line loses cost it
  /// less time.
  virtual void callRepeatedly(std::string target, std::string body, std::chrono::nanoseconds timeout,
                              JsonHandler handler) {
    call(std::move(target), std::move(body), timeout, std::move(handler));
  }

  /// `https://dynamodb.eu-central-1.amazonaws.com, region eu-central-1`. No secrets.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace tenure::aws
