// The fence's contract on DynamoDB: once for an item that contains its token, once for transactions with a guard.
#include <tenure/adapters/dynamodb_fence.hpp>

#include "adapters/contract/fence_contract.hpp"
#include "adapters/dynamodb/bare_table.hpp"

namespace tenure::contract {
namespace {

using boost::json::object;

static_assert(FencedWriter<DynamoDbFence, const DynamoDbWrite>);

DynamoDbFenceOptions optionsFor(const std::string& table) {
  DynamoDbFenceOptions options;
  options.endpoint = test::clientOptions().endpoint;
  options.guard.table = table;
  return options;
}

/// The ledger is a list in one item, which keeps the order.
DynamoDbWrite entryOf(const std::string& table, const TermStamp& stamp, const std::string& entry) {
  const std::string text = toString(stamp.token) + ' ' + entry + ' ' + stamp.holder;
  const object values{{":none", {{"L", boost::json::array{}}}},
                      {":new", {{"L", boost::json::array{object{{"S", text}}}}}}};
  return {.kind = DynamoDbWrite::Kind::update,
          .table = table,
          .item = R"({"key":{"S":"ledger"}})",
          .update = "SET #e = list_append(if_not_exists(#e, :none), :new)",
          .names = R"({"#e":"entries"})",
          .values = boost::json::serialize(values)};
}

class DynamoDbHandle final : public FenceHandle {
 public:
  DynamoDbHandle(const std::string& table, bool transactions)
      : table_{table}, transactions_{transactions}, fence_{optionsFor(table)} {}

  FenceResult<void> write(const TermStamp& stamp, const std::string& entry, const std::function<void()>&) override {
    const DynamoDbWrite what = entryOf(table_.name(), stamp, entry);
    return told(transactions_ ? fence_.transact(stamp, {what}) : fence_.write(stamp, what));
  }
  FenceResult<void> writeUnder(const FencedTerm& term, const std::string& entry) override {
    const DynamoDbWrite what = entryOf(table_.name(), term.stamp(), entry);
    return told(transactions_ ? fence_.transact(term, {what}) : fence_.write(term, what));
  }
  bool writeBare(const TermStamp& stamp, const std::string& entry) override {
    const DynamoDbWrite what = entryOf(table_.name(), stamp, entry);
    table_.ask("UpdateItem", {{"TableName", what.table},
                              {"Key", boost::json::parse(what.item)},
                              {"UpdateExpression", what.update},
                              {"ExpressionAttributeNames", boost::json::parse(what.names)},
                              {"ExpressionAttributeValues", boost::json::parse(what.values)}});
    return true;
  }
  FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease) override {
    if (transactions_) return fence_.highestSeen(lease);
    object item = table_.item("ledger");
    const auto found = item.find("tenure_fence:" + lease);
    if (found == item.end()) return std::optional<TermStamp>{};
    const object& map = found->value().as_object().at("M").as_object();
    return std::optional{
        TermStamp{lease, FencingToken{std::stoull(std::string{map.at("token").as_object().at("N").as_string()})},
                  std::string{map.at("holder").as_object().at("S").as_string()}}};
  }

 private:
  static FenceResult<void> told(const FenceResult<DynamoDbWritten>& written) {
    if (!written) return written.error();
    if (*written == DynamoDbWritten::done) return {};
    return fenceError({ErrorClass::misconfigured, "a condition failed where there is none"});
  }
  test::BareTable table_;
  bool transactions_;
  DynamoDbFence fence_;
};

class DynamoDbResource final : public FencedResource {
 public:
  explicit DynamoDbResource(bool transactions) : transactions_{transactions} { table_.create(); }
  ~DynamoDbResource() override { table_.drop(); }

  std::string address() const override { return table_.name(); }
  std::vector<FencedEntry> entries() override {
    std::vector<FencedEntry> found;
    object item = table_.item("ledger");
    if (item.empty() || !item.contains("entries")) return found;
    for (const auto& one : item["entries"].as_object()["L"].as_array()) {
      const std::string line{one.as_object().at("S").as_string()};
      const std::size_t first = line.find(' ');
      const std::size_t second = line.find(' ', first + 1);
      found.push_back(
          {FencingToken{std::stoull(line)}, line.substr(second + 1), line.substr(first + 1, second - first - 1)});
    }
    return found;
  }
  bool plant(const TermStamp& memory) override {
    const std::string key = transactions_ ? "tenure-fence#" + memory.lease : "ledger";
    const object term{{"token", {{"N", toString(memory.token)}}}, {"holder", {{"S", memory.holder}}}};
    table_.ask("UpdateItem", {{"TableName", table_.name()},
                              {"Key", {{"key", {{"S", key}}}}},
                              {"UpdateExpression", "SET #fence = :memory"},
                              {"ExpressionAttributeNames", {{"#fence", "tenure_fence:" + memory.lease}}},
                              {"ExpressionAttributeValues", {{":memory", {{"M", term}}}}}});
    return true;
  }

 private:
  const bool transactions_;
  test::BareTable table_{test::BareTable::freshName()};
};

/// A DynamoDB on the test's machine does a few hundred writes a second, and fewer as the list in the item grows.
FenceUnderTest fenceNamed(const char* name, bool transactions) {
  return registerFence(
      {.name = name,
       .make = [transactions] { return std::make_unique<DynamoDbResource>(transactions); },
       .open = [transactions](
                   const std::string& address) { return std::make_unique<DynamoDbHandle>(address, transactions); },
       .raceWrites = 300,
       .writesOfOneRace = 5'000});
}

const FenceUnderTest item = fenceNamed("DynamoDbItem", false);
const FenceUnderTest transaction = fenceNamed("DynamoDbTransaction", true);

INSTANTIATE_TEST_SUITE_P(DynamoDb, FenceContract, testing::Values(item, transaction), fenceName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, FenceRaceContract, testing::Values(item, transaction), fenceName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, FenceFreezeContract, testing::Values(item, transaction), fenceName);

}  // namespace
}  // namespace tenure::contract
