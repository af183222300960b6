// An update with its condition. DynamoDB refuses names and values that an expression does not use, so both lists grow
// with the expressions.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "layout.hpp"

namespace tenure::dynamodb_store {

class Expression {
 public:
  explicit Expression(const Layout& layout);

  // What the update does.
  void setText(Attribute attribute, std::string_view text);
  void setNumber(Attribute attribute, std::int64_t number);
  void setBytes(Attribute attribute, std::string_view bytes);
  /// Only where the item has no such attribute.
  void setMissingNumber(Attribute attribute, std::int64_t number);
  void remove(Attribute attribute);
  /// The user's attributes.
  void setUserText(std::string_view name, std::string_view text);
  void removeUser(std::string_view name);

  // The condition; the parts are joined by AND.
  void requireAbsent(Attribute attribute);
  void requirePresent(Attribute attribute);
  void requireText(Attribute attribute, std::string_view alias, std::string_view text);
  void requireNumber(Attribute attribute, std::string_view alias, std::int64_t number);
  void requireOneOf(Attribute attribute, const std::vector<RecordVersion>& versions);
  void filterPrefix(Attribute attribute, std::string_view prefix);

  /// `,"UpdateExpression":...,"ConditionExpression":...,"ExpressionAttributeNames":...`; what is empty is left out.
  void appendTo(std::string& body, std::string_view conditionMember = "ConditionExpression") const;

 private:
  std::string_view use(Attribute attribute);
  void startSet(std::string_view alias, std::string_view valueAlias);
  void startRemove();
  void startCondition();
  std::string& startValue(std::string_view alias);
  std::string useUser(std::string_view name);

  const Layout& layout_;
  std::bitset<attributeCount> used_;
  std::size_t userNames_{0};
  std::string sets_;
  std::string removes_;
  std::string condition_;
  std::string names_;
  std::string values_;
};

}  // namespace tenure::dynamodb_store
