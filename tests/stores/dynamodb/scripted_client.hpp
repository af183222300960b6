// A DynamoDB with the answers that the test defines, and a store that uses it, with a manual clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>
#include <tenure/testing/manual_runtime.hpp>

#include "lockcore/aws/json_client.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/stores/dynamodb/src/store.hpp"

namespace tenure::test {

/// A request of the store.
struct SentRequest {
  std::string operation;  ///< "UpdateItem"
  std::string body;
  std::chrono::nanoseconds timeout;
  bool repeatedly{false};  ///< it was sent in copies
};

/// Answers the requests in the order of the script, each a little later and on the scheduler. If the script is at its
/// end, a request gets no answer until the client is destroyed.
class ScriptedClient final : public aws::JsonClient {
 public:
  explicit ScriptedClient(std::shared_ptr<ManualScheduler> scheduler) : scheduler_{std::move(scheduler)} {}
  ~ScriptedClient() override;
  ScriptedClient(const ScriptedClient&) = delete;
  ScriptedClient& operator=(const ScriptedClient&) = delete;

  void call(std::string target, std::string body, std::chrono::nanoseconds timeout, aws::JsonHandler handler) override;
  void callRepeatedly(std::string target, std::string body, std::chrono::nanoseconds timeout,
                      aws::JsonHandler handler) override;
  [[nodiscard]] std::string describe() const override { return "scripted"; }

  void answer(aws::JsonOutcome outcome) { script_.push_back(std::move(outcome)); }
  std::vector<SentRequest> sent;

 private:
  const std::shared_ptr<ManualScheduler> scheduler_;
  std::deque<aws::JsonOutcome> script_;
  std::vector<aws::JsonHandler> unanswered_;
};

/// `{"__type":"com.amazonaws.dynamodb.v20120810#Name","message":"words"` + more + `}`
[[nodiscard]] aws::JsonReply serviceError(const std::string& name, int status = 400, const std::string& more = "");
[[nodiscard]] aws::JsonCallError noAnswer(bool maybeSent);
[[nodiscard]] boost::json::object parsed(const std::string& text);
/// A file of the golden folder as one line of JSON.
[[nodiscard]] std::string golden(const std::string& name);

/// The store under test. A call runs until its answer; if there is none, it throws, which fails the test.
class ScriptedStore {
 public:
  explicit ScriptedStore(DynamoDbStoreOptions options = {.table = "locks"}, bool tablePassed = true);

  void ok(std::string body) { client().answer(aws::JsonReply{200, std::move(body), "REQ"}); }
  void fails(aws::JsonOutcome outcome) { client().answer(std::move(outcome)); }

  WriteOutcome write(WriteRequest request, std::chrono::nanoseconds timeout = std::chrono::seconds{5});
  ReadOutcome read(const LeaseKey& key, std::chrono::nanoseconds timeout = std::chrono::seconds{5});
  ListOutcome list(std::string prefix);
  ListOutcome listName(std::string name);
  WriteOutcome stepDown(const LeaseKey& key, FencingToken token);
  /// Lets time pass until there is an answer.
  StoreStatus ensureSchema(std::chrono::nanoseconds timeout = std::chrono::minutes{5});

  [[nodiscard]] ScriptedClient& client() { return *client_; }
  [[nodiscard]] ExtendedStore& raw() { return *store_; }
  [[nodiscard]] ManualScheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] std::vector<std::string> operations() const;
  [[nodiscard]] const std::vector<std::string>& log() const { return *log_; }
  /// Drops the store and the client with it.
  void close();

 private:
  std::shared_ptr<ManualScheduler> scheduler_ = std::make_shared<ManualScheduler>();
  std::shared_ptr<ScriptedClient> client_ = std::make_shared<ScriptedClient>(scheduler_);
  std::shared_ptr<std::vector<std::string>> log_ = std::make_shared<std::vector<std::string>>();
  std::shared_ptr<ExtendedStore> store_;
};

/// The answer of DescribeTable for a table that fits the default options; `more` goes into its description.
[[nodiscard]] std::string tableDescription(const std::string& status = "ACTIVE", const std::string& more = "");

inline constexpr std::int64_t scriptedEpochSeconds = 1'795'000'000;

/// A lock item as the store writes it. `rvn`, `owner` as texts.
[[nodiscard]] std::string lockItem(const std::string& rvn, const std::string& owner = "me", int token = 7,
                                   const std::string& more = "");

[[nodiscard]] WriteRequest request(WriteRequest::Purpose purpose, std::vector<std::string> expected,
                                   std::string rvn = "new");

}  // namespace tenure::test
