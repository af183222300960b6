#include "stores/dynamodb/scripted_client.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure::test {
namespace {

template <class Outcome>
Outcome answerOf(ManualScheduler& scheduler, const std::function<void(std::function<void(Outcome)>)>& start,
                 bool letTimePass = false) {
  std::optional<Outcome> answer;
  bool inside = true;
  start([&](Outcome outcome) {
    if (inside) ADD_FAILURE() << "answered inside the call";
    if (answer) ADD_FAILURE() << "answered twice";
    answer.emplace(std::move(outcome));
  });
  inside = false;
  scheduler.runReady();
  while (letTimePass && !answer && scheduler.advanceToNextTimer()) scheduler.runReady();
  if (!answer) throw std::runtime_error{"not answered"};
  return std::move(*answer);
}

}  // namespace

ScriptedClient::~ScriptedClient() {
  for (auto& handler : unanswered_) {
    scheduler_->post([handler = std::move(handler)] { handler(noAnswer(true)); });
  }
}

void ScriptedClient::call(std::string target, std::string body, std::chrono::nanoseconds timeout,
                          aws::JsonHandler handler) {
  const std::string prefix = "DynamoDB_20120810.";
  if (!target.starts_with(prefix)) throw std::runtime_error{"target " + target};
  [[maybe_unused]] const auto checked = parsed(body);
  sent.push_back({target.substr(prefix.size()), std::move(body), timeout});
  if (script_.empty()) {
    unanswered_.push_back(std::move(handler));
    return;
  }
  scheduler_->post([handler = std::move(handler), outcome = std::move(script_.front())] { handler(outcome); });
  script_.pop_front();
}

void ScriptedClient::callRepeatedly(std::string target, std::string body, std::chrono::nanoseconds timeout,
                                    aws::JsonHandler handler) {
  call(std::move(target), std::move(body), timeout, std::move(handler));
  sent.back().repeatedly = true;
}

aws::JsonReply serviceError(const std::string& name, int status, const std::string& more) {
  return {status, R"({"__type":"com.amazonaws.dynamodb.v20120810#)" + name + R"(","message":"words")" + more + '}',
          "REQ"};
}

aws::JsonCallError noAnswer(bool maybeSent) {
  return {{ErrorClass::transient, maybeSent ? "no answer in time" : "cannot connect"}, maybeSent};
}

boost::json::object parsed(const std::string& text) { return boost::json::parse(text).as_object(); }

std::string golden(const std::string& name) {
  const std::ifstream file{std::string{TENURE_GOLDEN_ROWS} + '/' + name + ".json"};
  if (!file) throw std::runtime_error{"no golden row " + name};
  std::ostringstream text;
  text << file.rdbuf();
  return boost::json::serialize(parsed(text.str()));
}

ScriptedStore::ScriptedStore(DynamoDbStoreOptions options, bool tablePassed) {
  Logger logger{LogLevel::trace, [log = log_](LogLevel level, std::string_view line) {
                  log->push_back(std::string{toString(level)} + ": " + std::string{line});
                }};
  store_ = extended(dynamodb_store::makeStore(
      std::move(options), {client_, std::move(logger), scheduler_, [] { return scriptedEpochSeconds; }}));
  if (!tablePassed) return;
  ok(tableDescription());
  ok("{}");
  if (ensureSchema().has_error()) throw std::runtime_error{"the table did not pass"};
  client().sent.clear();
}

WriteOutcome ScriptedStore::write(WriteRequest request, std::chrono::nanoseconds timeout) {
  return answerOf<WriteOutcome>(
      *scheduler_, [&](WriteHandler handler) { store_->write(std::move(request), {timeout}, std::move(handler)); });
}

ReadOutcome ScriptedStore::read(const LeaseKey& key, std::chrono::nanoseconds timeout) {
  return answerOf<ReadOutcome>(*scheduler_,
                               [&](ReadHandler handler) { store_->read(key, {timeout}, std::move(handler)); });
}

ListOutcome ScriptedStore::list(std::string prefix) {
  return answerOf<ListOutcome>(*scheduler_, [&](ListHandler handler) {
    store_->list(std::move(prefix), {std::chrono::seconds{5}}, std::move(handler));
  });
}

ListOutcome ScriptedStore::listName(std::string name) {
  return answerOf<ListOutcome>(*scheduler_, [&](ListHandler handler) {
    store_->listName(std::move(name), {std::chrono::seconds{5}}, std::move(handler));
  });
}

WriteOutcome ScriptedStore::stepDown(const LeaseKey& key, FencingToken token) {
  return answerOf<WriteOutcome>(*scheduler_, [&](WriteHandler handler) {
    store_->requestStepDown(key, {token}, {std::chrono::seconds{5}}, std::move(handler));
  });
}

StoreStatus ScriptedStore::ensureSchema(std::chrono::nanoseconds timeout) {
  return answerOf<StoreStatus>(
      *scheduler_, [&](StatusHandler handler) { store_->ensureSchema({timeout}, std::move(handler)); }, true);
}

std::vector<std::string> ScriptedStore::operations() const {
  std::vector<std::string> names;
  for (const SentRequest& request : client_->sent) names.push_back(request.operation);
  return names;
}

void ScriptedStore::close() {
  client_.reset();
  store_.reset();
}

std::string tableDescription(const std::string& status, const std::string& more) {
  return R"({"Table":{"TableName":"locks","TableStatus":")" + status +
         R"(","KeySchema":[{"AttributeName":"key","KeyType":"HASH"}],)"
         R"("AttributeDefinitions":[{"AttributeName":"key","AttributeType":"S"}])" +
         more + "}}";
}

std::string lockItem(const std::string& rvn, const std::string& owner, int token, const std::string& more) {
  return R"({"key":{"S":"billing"},"ownerName":{"S":")" + owner +
         R"("},"leaseDuration":{"S":"10000"},"recordVersionNumber":{"S":")" + rvn + R"("},"tenureToken":{"N":")" +
         std::to_string(token) +
         R"("},"tenureStepDown":{"N":"0"},"tenureAcquiredMillis":{"N":"1"},"tenureRenewedMillis":{"N":"2"})" + more +
         '}';
}

WriteRequest request(WriteRequest::Purpose purpose, std::vector<std::string> expected, std::string rvn) {
  WriteRequest made;
  made.key = {"billing"};
  made.purpose = purpose;
  for (std::string& version : expected) made.expected.emplace_back(std::move(version));
  made.record.holder = "me";
  made.record.version = RecordVersion{std::move(rvn)};
  made.record.leaseDuration = std::chrono::seconds{10};
  made.record.token = FencingToken{7};
  made.record.acquiredAtMillis = 1;
  made.record.renewedAtMillis = 2;
  return made;
}

}  // namespace tenure::test
