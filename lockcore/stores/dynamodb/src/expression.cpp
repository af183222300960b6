#include "expression.hpp"

#include "json_text.hpp"

namespace tenure::dynamodb_store {
namespace {

/// DynamoDB's limit for the right side of IN.
constexpr std::size_t mostOperands = 100;

void comma(std::string& list) {
  if (!list.empty()) list += ',';
}

}  // namespace

/// As much as a heartbeat needs: growing step by step would cost more than the rest of the work.
Expression::Expression(const Layout& layout) : layout_{layout} {
  sets_.reserve(128);
  removes_.reserve(32);
  condition_.reserve(64);
  names_.reserve(256);
  values_.reserve(384);
}

std::string_view Expression::use(Attribute attribute) {
  const auto index = static_cast<std::size_t>(attribute);
  if (!used_.test(index)) {
    used_.set(index);
    comma(names_);
    names_ += layout_.aliasMember(attribute);
  }
  return aliasOf(attribute);
}

std::string Expression::useUser(std::string_view name) {
  std::string alias = "u" + std::to_string(userNames_++);
  comma(names_);
  names_ += "\"#" + alias + "\":";
  appendQuoted(names_, name);
  return alias;
}

void Expression::startSet(std::string_view alias, std::string_view valueAlias) {
  comma(sets_);
  sets_.append(alias).append("=").append(valueAlias);
}

void Expression::startRemove() { comma(removes_); }

void Expression::startCondition() {
  if (!condition_.empty()) condition_ += " AND ";
}

std::string& Expression::startValue(std::string_view alias) {
  comma(values_);
  values_ += '"';
  values_.append(alias).append("\":");
  return values_;
}

void Expression::setText(Attribute attribute, std::string_view text) {
  startSet(use(attribute), valueAliasOf(attribute));
  appendTextValue(startValue(valueAliasOf(attribute)), text);
}

void Expression::setNumber(Attribute attribute, std::int64_t number) {
  startSet(use(attribute), valueAliasOf(attribute));
  appendNumberValue(startValue(valueAliasOf(attribute)), number);
}

void Expression::setBytes(Attribute attribute, std::string_view bytes) {
  startSet(use(attribute), valueAliasOf(attribute));
  appendBytesValue(startValue(valueAliasOf(attribute)), bytes);
}

void Expression::setMissingNumber(Attribute attribute, std::int64_t number) {
  comma(sets_);
  const std::string_view alias = use(attribute);
  sets_.append(alias).append("=if_not_exists(").append(alias).append(",");
  sets_.append(valueAliasOf(attribute)).append(")");
  appendNumberValue(startValue(valueAliasOf(attribute)), number);
}

void Expression::remove(Attribute attribute) {
  startRemove();
  removes_ += use(attribute);
}

void Expression::setUserText(std::string_view name, std::string_view text) {
  const std::string alias = useUser(name);
  startSet('#' + alias, ':' + alias);
  appendTextValue(startValue(':' + alias), text);
}

void Expression::removeUser(std::string_view name) {
  startRemove();
  removes_ += '#' + useUser(name);
}

void Expression::requireAbsent(Attribute attribute) {
  startCondition();
  condition_.append("attribute_not_exists(").append(use(attribute)).append(")");
}

void Expression::requirePresent(Attribute attribute) {
  startCondition();
  condition_.append("attribute_exists(").append(use(attribute)).append(")");
}

void Expression::requireText(Attribute attribute, std::string_view alias, std::string_view text) {
  startCondition();
  condition_.append(use(attribute)).append("=").append(alias);
  appendTextValue(startValue(alias), text);
}

void Expression::requireNumber(Attribute attribute, std::string_view alias, std::int64_t number) {
  startCondition();
  condition_.append(use(attribute)).append("=").append(alias);
  appendNumberValue(startValue(alias), number);
}

void Expression::requireOneOf(Attribute attribute, const std::vector<RecordVersion>& versions) {
  startCondition();
  const std::string_view name = use(attribute);
  const bool several = versions.size() > mostOperands;
  if (several) condition_ += '(';
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const std::string alias = ":e" + std::to_string(i);
    if (i % mostOperands == 0) {
      if (i > 0) condition_ += ") OR ";
      condition_.append(name).append(" IN (");
    } else {
      condition_ += ',';
    }
    condition_ += alias;
    appendTextValue(startValue(alias), versions[i].text());
  }
  condition_ += several ? "))" : ")";
}

void Expression::filterPrefix(Attribute attribute, std::string_view prefix) {
  startCondition();
  condition_.append("begins_with(").append(use(attribute)).append(",:p)");
  appendTextValue(startValue(":p"), prefix);
}

void Expression::appendTo(std::string& body, std::string_view conditionMember) const {
  if (!sets_.empty() || !removes_.empty()) {
    body += R"(,"UpdateExpression":")";
    if (!sets_.empty()) body.append("SET ").append(sets_);
    if (!removes_.empty()) body.append(sets_.empty() ? "REMOVE " : " REMOVE ").append(removes_);
    body += '"';
  }
  if (!condition_.empty()) {
    body.append(",\"").append(conditionMember).append("\":\"").append(condition_).append("\"");
  }
  if (!names_.empty()) body.append(",\"ExpressionAttributeNames\":{").append(names_).append("}");
  if (!values_.empty()) body.append(",\"ExpressionAttributeValues\":{").append(values_).append("}");
}

}  // namespace tenure::dynamodb_store
