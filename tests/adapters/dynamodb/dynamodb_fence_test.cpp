#include <gtest/gtest.h>

#include <tenure/adapters/dynamodb_fence.hpp>

#include "adapters/dynamodb/bare_table.hpp"

namespace tenure {
namespace {

TermStamp stamp(std::uint64_t token, std::string holder = "a#1") {
  return {"billing", FencingToken{token}, std::move(holder)};
}

class DynamoDbFenceTest : public testing::Test {
 protected:
  DynamoDbFenceTest() { table_.create(); }
  ~DynamoDbFenceTest() override { table_.drop(); }

  static DynamoDbFenceOptions optionsFor(const std::string& table) {
    DynamoDbFenceOptions options;
    options.endpoint = test::clientOptions().endpoint;
    options.guard.table = table;
    return options;
  }
  [[nodiscard]] DynamoDbWrite put(const std::string& item, std::string condition = {}) const {
    return {.table = table_.name(), .item = item, .condition = std::move(condition)};
  }
  [[nodiscard]] DynamoDbWrite erase(const std::string& key) const {
    return {.kind = DynamoDbWrite::Kind::erase, .table = table_.name(), .item = key};
  }

  test::BareTable table_{test::BareTable::freshName()};
  DynamoDbFence fence_{optionsFor(table_.name())};
};

constexpr const char* one = R"({"key":{"S":"one"},"n":{"N":"1"}})";
constexpr const char* oneKey = R"({"key":{"S":"one"}})";

TEST_F(DynamoDbFenceTest, anItemBearsItsToken) {
  EXPECT_EQ(fence_.write(stamp(5), put(one)).value(), DynamoDbWritten::done);
  const auto refused = fence_.write(stamp(4), put(one));
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(*FenceError{refused.error()}.stale(), (StaleToken{FencingToken{4}, FencingToken{5}}));
  EXPECT_EQ(table_.item("one")["tenure_fence:billing"],
            boost::json::parse(R"({"M":{"holder":{"S":"a#1"},"token":{"N":"5"}}})"));
}

TEST_F(DynamoDbFenceTest, aConditionOfTheCallersOwnIsToldApart) {
  EXPECT_EQ(fence_.write(stamp(5), put(one)).value(), DynamoDbWritten::done);
  const DynamoDbWrite fresh = put(one, "attribute_not_exists(n)");
  EXPECT_EQ(fence_.write(stamp(5), fresh).value(), DynamoDbWritten::conditionFailed);
  EXPECT_NE(FenceError{fence_.write(stamp(4), fresh).error()}.stale(), nullptr) << "the fence's word comes first";
  EXPECT_EQ(fence_.transact(stamp(5), {fresh}).value(), DynamoDbWritten::conditionFailed);
}

TEST_F(DynamoDbFenceTest, aCleverConditionDoesNotOpenTheFence) {
  EXPECT_TRUE(fence_.write(stamp(5), put(one)));
  EXPECT_TRUE(fence_.write(stamp(4), put(one, "attribute_exists(n) OR attribute_not_exists(n)")).has_error());
}

TEST_F(DynamoDbFenceTest, aTransactionFencesDeletionsToo) {
  EXPECT_TRUE(fence_.transact(stamp(5), {put(one), put(R"({"key":{"S":"two"}})")}));
  EXPECT_TRUE(fence_.transact(stamp(6, "b#2"), {erase(oneKey)}));
  EXPECT_TRUE(table_.item("one").empty());
  const auto refused = fence_.transact(stamp(5), {put(one)});
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(*FenceError{refused.error()}.stale(), (StaleToken{FencingToken{5}, FencingToken{6}}));
  EXPECT_TRUE(table_.item("one").empty()) << "all or none";
  EXPECT_EQ(fence_.highestSeen("billing").value(), stamp(6, "b#2"));
}

TEST_F(DynamoDbFenceTest, anUpdateKeepsItsOtherParts) {
  DynamoDbWrite update{.kind = DynamoDbWrite::Kind::update,
                       .table = table_.name(),
                       .item = oneKey,
                       .update = "ADD n :one REMOVE gone SET x = :one",
                       .values = R"({":one":{"N":"1"}})"};
  EXPECT_TRUE(fence_.write(stamp(5), update));
  update.update = "REMOVE ASSET, #set  add n :one\nset\ty = :one";
  update.names = R"({"#set":"SET "})";
  EXPECT_TRUE(fence_.write(stamp(5), update));
  update.names.clear();
  update.update = "ADD n :one";
  EXPECT_TRUE(fence_.write(stamp(5), update));
  EXPECT_EQ(boost::json::serialize(table_.item("one")["n"]), R"({"N":"3"})");
}

TEST_F(DynamoDbFenceTest, whatCannotBeFencedIsRefusedBeforeItIsSent) {
  DynamoDbWrite noJson = put("{");
  DynamoDbWrite noTable = put(one);
  noTable.table.clear();
  for (const DynamoDbWrite& bad : {erase(oneKey), noJson, noTable, put(""), put("[]")}) {
    const FenceError error = fence_.write(stamp(5), bad).error();
    EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::misconfigured) << error.message;
    EXPECT_FALSE(error.writeError()->mayBeWritten);
  }
  EXPECT_TRUE(fence_.transact(stamp(5), {}).has_error());
  DynamoDbFence unguarded{optionsFor("")};
  EXPECT_TRUE(unguarded.transact(stamp(5), {put(one)}).has_error());
  EXPECT_TRUE(unguarded.highestSeen("billing").has_error());
}

TEST_F(DynamoDbFenceTest, anAttributeThatIsNoTokenFailsClosed) {
  for (const char* fence : {R"({"S":"5"})", R"({"M":{"token":{"S":"5"},"holder":{"S":"a#1"}}})",
                            R"({"M":{"token":{"N":"5"},"holder":{"S":"a#1"},"more":{"S":"x"}}})"}) {
    (void)table_.ask("PutItem",
                     {{"TableName", table_.name()},
                      {"Item", {{"key", {{"S", "one"}}}, {"tenure_fence:billing", boost::json::parse(fence)}}}});
    const auto refused = fence_.write(stamp(5), put(one));
    ASSERT_TRUE(refused.has_error()) << fence;
    EXPECT_EQ(FenceError{refused.error()}.writeError()->error.errorClass, ErrorClass::corrupt) << fence;
  }
}

TEST_F(DynamoDbFenceTest, aMissingTableIsTold) {
  DynamoDbWrite elsewhere = put(one);
  elsewhere.table = "no-such-table";
  const FenceError error = fence_.write(stamp(5), elsewhere).error();
  EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::misconfigured);
  EXPECT_NE(error.message.find("ResourceNotFoundException"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace tenure
