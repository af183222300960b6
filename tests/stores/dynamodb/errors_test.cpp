// Every error of DynamoDB x every operation: the class, and whether the write may have been applied.
#include "lockcore/stores/dynamodb/src/errors.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "stores/dynamodb/scripted_client.hpp"

namespace tenure::test {
namespace {

using Purpose = WriteRequest::Purpose;

struct ErrorCase {
  const char* name;
  int status;
  ErrorClass errorClass;
  bool maybeApplied;
};

constexpr auto transient = ErrorClass::transient;
constexpr auto throttled = ErrorClass::throttled;
constexpr auto credentials = ErrorClass::credentials;
constexpr auto misconfigured = ErrorClass::misconfigured;

/// Written from the service's documentation and faults.md, not from the table in the source.
const std::vector<ErrorCase> cases{
    {"ProvisionedThroughputExceededException", 400, throttled, false},
    {"ThrottlingException", 400, throttled, false},
    {"Throttling", 400, throttled, false},
    {"RequestLimitExceeded", 400, throttled, false},
    {"LimitExceededException", 400, throttled, false},
    {"TooManyRequestsException", 429, throttled, false},
    {"ItemCollectionSizeLimitExceededException", 400, throttled, false},
    {"TransactionConflictException", 400, transient, false},
    {"ReplicatedWriteConflictException", 400, transient, false},
    {"ResourceInUseException", 400, transient, false},
    {"InvalidEndpointException", 421, transient, false},
    {"TransactionInProgressException", 400, transient, true},
    {"IdempotentParameterMismatchException", 400, transient, true},
    {"InternalServerError", 500, transient, true},
    {"InternalFailure", 500, transient, true},
    {"ServiceUnavailable", 503, transient, true},
    {"ServiceUnavailableException", 503, transient, true},
    {"RequestTimeout", 400, transient, true},
    {"ResourceNotFoundException", 400, misconfigured, false},
    {"ValidationException", 400, misconfigured, false},
    {"SerializationException", 400, misconfigured, false},
    {"UnknownOperationException", 400, misconfigured, false},
    {"AccessDeniedException", 400, credentials, false},
    {"UnrecognizedClientException", 400, credentials, false},
    {"IncompleteSignatureException", 400, credentials, false},
    {"IncompleteSignature", 400, credentials, false},
    {"MissingAuthenticationTokenException", 400, credentials, false},
    {"MissingAuthenticationToken", 400, credentials, false},
    {"InvalidSignatureException", 400, credentials, false},
    {"ExpiredTokenException", 400, credentials, false},
    {"ExpiredToken", 400, credentials, false},
    {"InvalidClientTokenId", 403, credentials, false},
    {"OptInRequired", 403, credentials, false},
    {"RequestExpired", 400, credentials, false},
    // Names that nobody knows yet, classified by their status.
    {"BrandNewException", 400, misconfigured, false},
    {"BrandNewException", 403, credentials, false},
    {"BrandNewException", 429, throttled, false},
    {"BrandNewException", 500, transient, true},
    {"BrandNewException", 503, transient, true},
};

/// The report to the caller about a write.
std::string told(const WriteOutcome& outcome) {
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    return "rejected, " + std::string{toString(rejected->error.errorClass)};
  }
  if (const auto* unknown = std::get_if<Unknown>(&outcome)) {
    return "unknown, " + std::string{toString(unknown->error.errorClass)};
  }
  return std::holds_alternative<Applied>(outcome) ? "applied" : "conflict";
}

std::string expectedFor(const ErrorCase& error) {
  return std::string{error.maybeApplied ? "unknown, " : "rejected, "} + std::string{toString(error.errorClass)};
}

constexpr const char* emptyPair = R"({"Responses":{"locks":[]},"UnprocessedKeys":{}})";

TEST(DynamoDbErrors, ofEachWrite) {
  for (const ErrorCase& error : cases) {
    SCOPED_TRACE(std::string{error.name} + ' ' + std::to_string(error.status));
    const aws::JsonReply reply = serviceError(error.name, error.status);
    for (const Purpose purpose : {Purpose::renew, Purpose::release}) {
      ScriptedStore store;
      store.fails(reply);
      EXPECT_EQ(told(store.write(request(purpose, {"one"}))), expectedFor(error));
    }
    ScriptedStore deleting{{.table = "locks", .deleteOnRelease = true}};
    deleting.ok(R"({"Responses":{"locks":[)" + lockItem("one") + R"(]},"UnprocessedKeys":{}})");
    deleting.fails(reply);
    EXPECT_EQ(told(deleting.write(request(Purpose::release, {"one"}))), expectedFor(error));
    ScriptedStore acquiring;
    acquiring.ok(emptyPair);
    acquiring.fails(reply);
    EXPECT_EQ(told(acquiring.write(request(Purpose::acquire, {}))), expectedFor(error));
    ScriptedStore asking;
    asking.fails(reply);
    EXPECT_EQ(told(asking.stepDown({"billing"}, FencingToken{7})), expectedFor(error));
    ScriptedStore unread;
    unread.fails(reply);
    EXPECT_EQ(told(unread.write(request(Purpose::acquire, {}))), "rejected, " + std::string{toString(error.errorClass)})
        << "an acquisition whose read fails has written nothing, whatever the error";
  }
}

/// The service's words are cut to 400 bytes, and never inside a character.
TEST(DynamoDbErrors, aLongMessageIsCutBetweenCharacters) {
  ScriptedStore store;
  std::string words = std::string(399, 'x') + "\u00e9\u00e9";
  store.fails(aws::JsonReply{400, R"({"__type":"ValidationException","message":")" + words + R"("})"});
  const WriteOutcome outcome = store.write(request(Purpose::renew, {"one"}));
  const std::string& message = std::get<Rejected>(outcome).error.message;
  EXPECT_NE(message.find(std::string(399, 'x') + "..."), std::string::npos) << message;
}

TEST(DynamoDbErrors, aFailedServerIsNotBelievedThatNothingHappened) {
  for (const ErrorCase& error : cases) {
    SCOPED_TRACE(error.name);
    ScriptedStore store;
    store.fails(serviceError(error.name, 500));
    EXPECT_EQ(told(store.write(request(Purpose::renew, {"one"}))).substr(0, 8), "unknown,");
  }
}

TEST(DynamoDbErrors, ofEachRead) {
  for (const ErrorCase& error : cases) {
    SCOPED_TRACE(error.name);
    ScriptedStore store;
    store.fails(serviceError(error.name, error.status));
    const ReadOutcome read = store.read({"billing"});
    ASSERT_TRUE(read.has_error());
    EXPECT_EQ(read.error().errorClass, error.errorClass);
    store.fails(serviceError(error.name, error.status));
    const ListOutcome listed = store.list("");
    ASSERT_TRUE(listed.has_error());
    EXPECT_EQ(listed.error().errorClass, error.errorClass);
  }
}

TEST(DynamoDbErrors, lostAnswersAreUnknownAndUnsentRequestsAreNot) {
  for (const bool sent : {true, false}) {
    const std::string expected = sent ? "unknown, transient" : "rejected, transient";
    for (const Purpose purpose : {Purpose::renew, Purpose::release}) {
      ScriptedStore store;
      store.fails(noAnswer(sent));
      EXPECT_EQ(told(store.write(request(purpose, {"one"}))), expected);
    }
    ScriptedStore store;
    store.ok(emptyPair);
    store.fails(noAnswer(sent));
    EXPECT_EQ(told(store.write(request(Purpose::acquire, {}))), expected);
    store.fails(noAnswer(sent));
    EXPECT_EQ(told(store.write(request(Purpose::acquire, {}))), "rejected, transient") << "only the read was sent";
    store.fails(noAnswer(sent));
    EXPECT_EQ(told(store.stepDown({"billing"}, FencingToken{7})), expected);
    store.fails(noAnswer(sent));
    EXPECT_TRUE(store.read({"billing"}).has_error());
  }
}

TEST(DynamoDbErrors, anAnswerThatIsNotDynamoDbsMayHideAnAppliedWrite) {
  for (const int status : {301, 400, 403, 404, 413, 429, 502, 504}) {
    ScriptedStore store;
    store.fails(aws::JsonReply{status, "<html>proxy</html>", ""});
    EXPECT_TRUE(std::holds_alternative<Unknown>(store.write(request(Purpose::renew, {"one"})))) << status;
  }
}

TEST(DynamoDbErrors, messagesSayWhatWhereAndWhatToDo) {
  ScriptedStore store;
  store.fails(serviceError("ResourceNotFoundException"));
  const std::string message = store.read({"billing"}).error().message;
  EXPECT_EQ(message.find("dynamodb table locks (scripted): reading lease billing: ResourceNotFoundException "
                         "(HTTP 400, request REQ): words; create the table"),
            0U)
      << message;
}

TEST(DynamoDbErrors, theTableIsSortedSoThatEachNameIsFound) {
  for (const ErrorCase& error : cases) {
    const bool known = dynamodb_store::ruleOf(error.name) != nullptr;
    EXPECT_EQ(known, std::string{error.name} != "BrandNewException") << error.name;
  }
  for (const char* name : {"AccessDenied", "ValidationException", "TransactionCanceledException", "SlowDown"}) {
    EXPECT_NE(dynamodb_store::ruleOf(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace tenure::test
