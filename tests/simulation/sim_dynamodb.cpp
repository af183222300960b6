// The DynamoDB store as it is shipped, in virtual time: the simulation provides its scheduler and its client.
#include <deque>
#include <map>
#include <stdexcept>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/aws/json_client.hpp"
#include "lockcore/port/successor_text.hpp"
#include "lockcore/stores/dynamodb/src/record_codec.hpp"
#include "lockcore/stores/dynamodb/src/store.hpp"
#include "simulation/sim_dynamodb_table.hpp"
#include "simulation/sim_store_endpoint.hpp"
#include "simulation/simulation.hpp"

namespace tenure {

// These functions are in files that are not linked here: the store's factories for users need their own thread.
std::shared_ptr<Scheduler> sharedScheduler() { throw std::logic_error{"a simulation has its own scheduler"}; }

}  // namespace tenure

namespace tenure::aws {

void throw_exception_from_error(const JsonCallError& error, const boost::source_location& /*where*/) {
  throw std::runtime_error{error.error.message};
}

}  // namespace tenure::aws

namespace tenure::test {
namespace {

using boost::json::object;

const LeaseKey leaseKey{"lease"};
constexpr std::string_view counterKey = "lease#fence";
constexpr std::int64_t epoch = 1'700'000'000;

DynamoDbStoreOptions tableOptions() { return {.table = "locks"}; }

class SimDynamoDb;

/// The service's side.
class SimDynamoDb final : public SimService {
 public:
  std::unique_ptr<SimEndpoint> connect(SimSurroundings& world, std::size_t process, SimLife& life) override;

  bool erase() override {
    table_.erase(leaseKey.name);
    refresh();
    return true;
  }
  /// Writes as the AWS Java lock client does: the whole item, without any attribute that it does not know.
  bool put(const LeaseRecord& foreign) override {
    table_.put(leaseKey.name, {{"key", object{{"S", leaseKey.name}}},
                               {"ownerName", object{{"S", foreign.holder}}},
                               {"leaseDuration", object{{"S", std::to_string(foreign.leaseDuration.count())}}},
                               {"recordVersionNumber", object{{"S", foreign.version.text()}}}});
    refresh();
    return true;
  }
  bool loseCounter() override {
    table_.erase(std::string{counterKey});
    return true;
  }
  [[nodiscard]] bool counterLost() const override { return table_.find(std::string{counterKey}) == nullptr; }
  void requestStepDown(const Successor& successor) override {
    if (!record() || record()->token.isNone()) return;
    object item = *table_.find(leaseKey.name);
    item["tenureStepDown"] = object{{"N", toString(record()->token)}};
    const std::string text = successorText(successor, record()->token);
    if (!text.empty() && !record()->released) item["tenureSuccessor"] = object{{"S", text}};
    table_.put(leaseKey.name, std::move(item));
  }

  aws::JsonReply serve(SimSurroundings& world, SimLife& life, std::string_view operation, const std::string& body,
                       const AnswerFate& fate);

 private:
  TableAnswer read(SimSurroundings& world, SimLife& life, std::string_view operation, const object& request,
                   const AnswerFate& fate);
  TableAnswer write(SimSurroundings& world, SimLife& life, std::string_view operation, const object& request,
                    const AnswerFate& fate);
  [[nodiscard]] const SimTable::Item* itemAt(const std::string& key, std::size_t back) const;
  void refresh();

  SimTable table_;
  std::optional<SimTable::Item> last_{};               // the lock item as it is now
  std::deque<std::optional<SimTable::Item>> history_;  // its earlier states, the latest last
  const dynamodb_store::Layout layout_{tableOptions()};
};

class SimClient final : public aws::JsonClient {
 public:
  SimClient(SimSurroundings& world, std::size_t process, SimLife& life, SimDynamoDb& service)
      : world_{world}, process_{process}, life_{life}, service_{service} {}

  void call(std::string target, std::string body, std::chrono::nanoseconds timeout, aws::JsonHandler handler) override {
    auto waiting = std::make_shared<aws::JsonHandler>(std::move(handler));
    const auto answer = [waiting](const aws::JsonOutcome& outcome) {
      if (const aws::JsonHandler once = std::exchange(*waiting, nullptr)) once(outcome);
    };
    std::string operation = target.substr(target.find('.') + 1);
    world_.exchange(
        process_, life_, timeout,
        [world = &world_, life = &life_, service = &service_, operation = std::move(operation), body = std::move(body),
         answer](const AnswerFate& fate) -> SimSurroundings::Task {
          aws::JsonReply reply = service->serve(*world, *life, operation, body, fate);
          return [answer, reply = std::move(reply)] { answer(reply); };
        },
        [answer] {
          answer(aws::JsonCallError{{ErrorClass::transient, "timed out"}, true});
        });
  }
  /// Sends both copies at once. They may be carried out in any order, and one of them much later.
  void callRepeatedly(std::string target, std::string body, std::chrono::nanoseconds timeout,
                      aws::JsonHandler handler) override {
    struct Copies {
      aws::JsonHandler handler;
      int out{2};
      bool lost{false};
    };
    const auto copies = std::make_shared<Copies>(Copies{std::move(handler)});
    const auto answer = [copies](aws::JsonOutcome outcome) {
      --copies->out;
      copies->lost = copies->lost || outcome.has_error();
      if (!copies->handler || (outcome.has_error() && copies->out > 0)) return;
      if (outcome) outcome->copiesOut = copies->lost || copies->out > 0;
      std::exchange(copies->handler, nullptr)(std::move(outcome));
    };
    call(target, body, timeout, answer);
    call(std::move(target), std::move(body), timeout, answer);
  }
  [[nodiscard]] std::string describe() const override { return "simulated"; }

 private:
  SimSurroundings& world_;
  std::size_t process_;
  SimLife& life_;
  SimDynamoDb& service_;
};

std::unique_ptr<SimEndpoint> SimDynamoDb::connect(SimSurroundings& world, std::size_t process, SimLife& life) {
  dynamodb_store::Surroundings surroundings{std::make_shared<SimClient>(world, process, life, *this), Logger{},
                                            std::make_shared<LocalScheduler>(world, process, life),
                                            [&world] { return epoch + world.trueSeconds(); }};
  return std::make_unique<StoreEndpoint>(leaseKey, dynamodb_store::makeStore(tableOptions(), std::move(surroundings)));
}

std::string_view rejectionName(AnswerFate::Rejection error) {
  switch (error) {
    case AnswerFate::Rejection::throttled:
      return "ThrottlingException";
    case AnswerFate::Rejection::credentials:
      return "AccessDeniedException";
    case AnswerFate::Rejection::misconfigured:
      return "ResourceNotFoundException";
    case AnswerFate::Rejection::none:
    case AnswerFate::Rejection::transient:
    case AnswerFate::Rejection::corrupt:
      break;
  }
  return "ReplicatedWriteConflictException";
}

aws::JsonReply SimDynamoDb::serve(SimSurroundings& world, SimLife& life, std::string_view operation,
                                  const std::string& body, const AnswerFate& fate) {
  if (fate.deferred) return {500, boost::json::serialize(serviceFault("InternalServerError")), "sim"};
  if (fate.error == AnswerFate::Rejection::corrupt) {
    const bool item = operation == "GetItem";
    return {200, item ? R"({"Item":{"key":{"S":"lease"},"ownerName":{"N":"1"}}})" : "<html>", "sim"};
  }
  if (fate.error != AnswerFate::Rejection::none) {
    return {400, boost::json::serialize(serviceFault(rejectionName(fate.error))), "sim"};
  }
  if (fate.lie && operation == "TransactWriteItems") return {200, "{}", "sim"};
  const object request = boost::json::parse(body).get_object();
  const bool reads = operation.find("Get") != std::string_view::npos || operation == "DescribeTable";
  const TableAnswer answer =
      reads ? read(world, life, operation, request, fate) : write(world, life, operation, request, fate);
  if (fate.unknown) return {500, boost::json::serialize(serviceFault("InternalServerError")), "sim"};
  return {answer.status, boost::json::serialize(answer.body), "sim"};
}

TableAnswer SimDynamoDb::read(SimSurroundings& world, SimLife& life, std::string_view operation, const object& request,
                              const AnswerFate& fate) {
  if (operation == "DescribeTable") {
    return {200, boost::json::parse(R"({"Table":{"TableName":"locks","TableStatus":"ACTIVE","KeySchema":[)"
                                    R"({"AttributeName":"key","KeyType":"HASH"}],"AttributeDefinitions":[)"
                                    R"({"AttributeName":"key","AttributeType":"S"}]}})")
                     .get_object()};
  }
  const bool batch = operation == "BatchGetItem";
  const object& what = batch ? request.at("RequestItems").get_object().at("locks").get_object() : request;
  const auto* consistent = what.if_contains("ConsistentRead");
  const bool strong = consistent != nullptr && consistent->is_bool() && consistent->get_bool();
  std::size_t back = 0;
  if (fate.stale || (!strong && world.weakReadIsStale())) back = world.staleness();
  if (fate.stale) world.misled(life);
  if (!batch) {
    const SimTable::Item* item = itemAt(SimTable::keyIn(request), back);
    return {200, item != nullptr ? object{{"Item", *item}} : object{}};
  }
  boost::json::array found;
  for (const auto& key : what.at("Keys").get_array()) {
    const SimTable::Item* item = itemAt(SimTable::keyIn(object{{"Key", key}}), back);
    if (item != nullptr) found.push_back(*item);
  }
  return {200, {{"Responses", object{{"locks", std::move(found)}}}, {"UnprocessedKeys", object{}}}};
}

TableAnswer SimDynamoDb::write(SimSurroundings& world, SimLife& life, std::string_view operation, const object& request,
                               const AnswerFate& fate) {
  TableAnswer answer;
  if (operation == "UpdateItem") answer = table_.update(request, !fate.hideImage);
  if (operation == "DeleteItem") answer = table_.remove(request, !fate.hideImage);
  if (operation == "TransactWriteItems") answer = table_.transact(request, !fate.hideImage);
  if (answer.status == 200) {
    if (operation == "TransactWriteItems") world.taken();
    refresh();
    if (record()) world.stored(life, record()->version);
  }
  return answer;
}

const SimTable::Item* SimDynamoDb::itemAt(const std::string& key, std::size_t back) const {
  if (back == 0 || key != leaseKey.name || history_.empty()) return table_.find(key);
  const auto& item = history_[history_.size() - 1 - std::min(back - 1, history_.size() - 1)];
  return item ? &*item : nullptr;
}

void SimDynamoDb::refresh() {
  const SimTable::Item* item = table_.find(leaseKey.name);
  std::optional<LeaseRecord> next;
  if (item != nullptr) {
    auto decoded = dynamodb_store::recordFrom(layout_, "simulated", leaseKey, *item);
    if (decoded.has_value()) next = std::move(decoded->record);
  }
  history_.push_back(last_);
  if (history_.size() > 4) history_.pop_front();
  last_ = item != nullptr ? std::optional{*item} : std::nullopt;
  now(next, next);  // what a read shows is the store's own business here
}

}  // namespace

bool hasDynamoDb() noexcept { return true; }

std::unique_ptr<SimService> makeSimDynamoDb() { return std::make_unique<SimDynamoDb>(); }

}  // namespace tenure::test
