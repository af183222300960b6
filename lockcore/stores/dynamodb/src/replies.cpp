#include "replies.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

namespace tenure::dynamodb_store {
namespace {

using boost::json::array;
using boost::json::object;

const object* objectIn(const object& parent, std::string_view member) noexcept {
  const auto* value = parent.if_contains(member);
  return value != nullptr ? value->if_object() : nullptr;
}

const array* arrayIn(const object& parent, std::string_view member) noexcept {
  const auto* value = parent.if_contains(member);
  return value != nullptr ? value->if_array() : nullptr;
}

StoreError notUnderstood(const std::string& where, const std::string& what) {
  return {ErrorClass::transient,
          where + ": the service's answer has " + what + "; check that the endpoint is DynamoDB"};
}

StoredOutcome decoded(const Subject& subject, const object& item) {
  auto record = recordFrom(subject.layout, subject.where, subject.key, item);
  if (record.has_error()) return record.error();
  return std::optional{std::move(*record)};
}

FencingToken tokenOf(const object& attributes, const std::string& name) {
  const auto* digits = numberIn(attributes, name);
  return digits != nullptr ? tokenFrom({digits->data(), digits->size()}).value_or(FencingToken{}) : FencingToken{};
}

StoreError doesNotTell(const CallName& call) {
  return {ErrorClass::transient,
          call.text() + ": the answer does not say what was written; check that the endpoint is DynamoDB"};
}

/// The codes of CancellationReasons differ from the names of the errors.
std::string errorNameOf(const std::string& code) {
  if (code == "ThrottlingError") return "ThrottlingException";
  if (code == "ValidationError") return "ValidationException";
  if (code == "DuplicateItem") return "DuplicateItemException";
  return code.ends_with("Exception") ? code : code + "Exception";
}

struct Reason {
  std::string code;
  const object* whole;
};

std::vector<Reason> reasonsIn(const object& body) {
  std::vector<Reason> reasons;
  const array* list = arrayIn(body, "CancellationReasons");
  if (list == nullptr) return reasons;
  for (const auto& entry : *list) {
    const object* reason = entry.if_object();
    reasons.push_back({reason != nullptr ? plainTextIn(*reason, "Code") : std::string{}, reason});
  }
  return reasons;
}

std::optional<object> imageIn(const object& parent) {
  const object* item = objectIn(parent, "Item");
  return item != nullptr ? std::optional{*item} : std::nullopt;
}

/// Several items may have a reason; the most important one decides what the caller does.
Cause causeOfTransaction(const CallName& call, const Fault& fault) {
  const std::string what = call.text();
  const std::vector<Reason> reasons = reasonsIn(fault.body);
  const auto isCode = [](std::string_view code) {
    return [code](const Reason& reason) { return reason.code == code; };
  };
  if (!reasons.empty() && reasons.front().code == "ConditionalCheckFailed") {
    return {Cause::Kind::condition, imageIn(*reasons.front().whole), {}};
  }
  if (std::any_of(reasons.begin(), reasons.end(), isCode("TransactionConflict"))) {
    return {Cause::Kind::busy,
            std::nullopt,
            {ErrorClass::transient, what + ": another transaction was at work on the same items"}};
  }
  for (const Reason& reason : reasons) {
    if (reason.code.empty() || reason.code == "None" || reason.code == "ConditionalCheckFailed") continue;
    const ErrorRule* rule = ruleOf(errorNameOf(reason.code));
    StoreError error{rule != nullptr ? rule->errorClass : ErrorClass::transient,
                     what + ": the transaction was cancelled: " + reason.code};
    if (const std::string words = plainTextIn(*reason.whole, "Message"); !words.empty()) error.message += ": " + words;
    return {Cause::Kind::other, std::nullopt, std::move(error)};
  }
  if (std::any_of(reasons.begin(), reasons.end(), isCode("ConditionalCheckFailed"))) {
    return {Cause::Kind::moved,
            std::nullopt,
            {ErrorClass::transient, what + ": the fencing counter was changed in the meantime"}};
  }
  return {Cause::Kind::other, std::nullopt, fault.error};
}

}  // namespace

StoredOutcome itemIn(const Subject& subject, const object& body) {
  if (const object* item = objectIn(body, "Item")) return decoded(subject, *item);
  if (body.if_contains("Item") != nullptr) return notUnderstood(subject.where, "an item that is not an object");
  return std::optional<StoredRecord>{};
}

StoreResult<Pair> pairIn(const Subject& subject, const object& body) {
  const object* responses = objectIn(body, "Responses");
  const array* items = responses != nullptr ? arrayIn(*responses, subject.layout.table()) : nullptr;
  const object* left = objectIn(body, "UnprocessedKeys");
  if (left != nullptr && !left->empty()) {
    return StoreError{ErrorClass::throttled, subject.where + ": reading lease " + toString(subject.key) +
                                                 ": DynamoDB left a part of the read undone, as it does when the table "
                                                 "is at its limit"};
  }
  if (responses == nullptr) return notUnderstood(subject.where, "no Responses");
  std::optional<StoredRecord> found;
  Companion companion;
  if (items == nullptr) return Pair{};
  const ItemKey lockKey = subject.layout.keyOf(subject.key);
  for (const auto& entry : *items) {
    const object* item = entry.if_object();
    const auto key = item != nullptr ? subject.layout.keyIn(*item) : std::nullopt;
    if (!key) return notUnderstood(subject.where, "an item without its key");
    if (*key == lockKey) {
      auto stored = decoded(subject, *item);
      if (stored.has_error()) return stored.error();
      found = std::move(*stored);
    } else {
      const auto counter = companionFrom(subject.layout, subject.where, subject.key, *item);
      if (counter.has_error()) return counter.error();
      companion = *counter;
    }
  }
  return Pair{std::move(found), companion};
}

Pair::Pair(std::optional<StoredRecord> item, Companion counterItem) : companion{counterItem} {
  record = std::move(item);
  counter = stored::Counter{companion.counter, companion.openLease.value_or(std::chrono::milliseconds{0})};
}

bool Pair::isTraceless() const {
  const auto& item = *record;
  return companion.counter.isNone() && (item ? item->record.token.isNone() : companion.present);
}

PageOutcome pageIn(const Layout& layout, const std::string& where, const object& body) {
  const array* items = arrayIn(body, "Items");
  if (items == nullptr) return notUnderstood(where, "no Items");
  ListPage page;
  for (const auto& entry : *items) {
    const object* item = entry.if_object();
    auto key = item != nullptr ? layout.keyIn(*item) : std::nullopt;
    if (!key) return notUnderstood(where, "an item without its key");
    if (Layout::isCompanion(key->partition)) continue;
    LeaseKey lease = layout.leaseKeyOf(std::move(*key));
    auto stored = recordFrom(layout, where, lease, *item);
    if (stored.has_error()) {
      page.leases.push_back({std::move(lease), stored.error()});
    } else {
      page.leases.push_back({std::move(lease), std::move(stored->record)});
    }
  }
  if (const object* last = objectIn(body, "LastEvaluatedKey"); last != nullptr && !last->empty()) {
    page.next = boost::json::serialize(*last);
  }
  return page;
}

PageOutcome pageOfNameIn(const Layout& layout, const std::string& where, const std::string& name, const object& body) {
  PageOutcome page = pageIn(layout, where, body);
  if (page.has_error()) return page;
  const bool foreign = std::any_of(page->leases.begin(), page->leases.end(),
                                   [&](const ListedLease& lease) { return lease.key.name != name; });
  if (foreign) return notUnderstood(where, "an item with another key than the one that was asked for");
  return page;
}

std::optional<double> costIn(const object& body) {
  const object* consumed = objectIn(body, "ConsumedCapacity");
  const auto* units = consumed != nullptr ? consumed->if_contains("CapacityUnits") : nullptr;
  if (units == nullptr || !units->is_number()) return std::nullopt;
  return units->to_number<double>();
}

WriteOutcome writtenIn(const Subject& subject, const CallName& call, const RecordVersion& version, const object& body) {
  const Layout& layout = subject.layout;
  const object* attributes = objectIn(body, "Attributes");
  const auto* shown =
      attributes != nullptr ? dynamodb_store::textIn(*attributes, layout.nameOf(Attribute::version)) : nullptr;
  if (shown == nullptr) return Unknown{doesNotTell(call)};
  if (std::string_view{shown->data(), shown->size()} != version.text()) {
    return Unknown{{ErrorClass::transient, call.text() + ": the answer is about another write"}};
  }
  const FencingToken token = tokenOf(*attributes, layout.nameOf(Attribute::token));
  const FencingToken asked = tokenOf(*attributes, layout.nameOf(Attribute::stepDown));
  return Applied{token, !asked.isNone() && asked == token};
}

WriteOutcome askedIn(const Subject& subject, const CallName& call, FencingToken token, const object& body) {
  const object* attributes = objectIn(body, "Attributes");
  const std::string& name = subject.layout.nameOf(Attribute::stepDown);
  if (attributes == nullptr || tokenOf(*attributes, name) != token) return Unknown{doesNotTell(call)};
  return Applied{token, true};
}

Cause causeIn(const CallName& call, const Fault& fault) {
  if (fault.name == "ConditionalCheckFailedException") return {Cause::Kind::condition, imageIn(fault.body), {}};
  if (fault.name == "TransactionCanceledException") return causeOfTransaction(call, fault);
  return {Cause::Kind::other, std::nullopt, fault.error};
}

}  // namespace tenure::dynamodb_store
