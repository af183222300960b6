// Any bytes as an answer of DynamoDB: a valid record, or a fault; never a lease for a write that was not ours.
#include <boost/json/serialize.hpp>

#include "fuzz_support.hpp"
#include "lockcore/aws/json_client.hpp"
#include "lockcore/stores/dynamodb/src/replies.hpp"
#include "lockcore/stores/dynamodb/src/requests.hpp"

namespace {

using namespace tenure;
using namespace tenure::dynamodb_store;
using tenure::fuzz::require;

const std::string where = "dynamodb table locks (fuzz)";
const LeaseKey billing{"billing"};

void judge(const StoreError& error) { tenure::fuzz::requireTellable(error.message); }

void judge(const LeaseRecord& record) {
  require(!record.holder.empty() && !record.version.text().empty(), "a record has a holder and a version");
  require(record.leaseDuration.count() > 0, "a lease lasts");
  require(record.token <= maxFencingToken, "a token is exact in every reader");
}

void asReads(const Subject& subject, const boost::json::object& body) {
  if (const auto item = itemIn(subject, body)) {
    if (*item) judge((*item)->record);
  } else {
    judge(item.error());
  }
  if (const auto pair = pairIn(subject, body)) {
    if (const auto& stored = *pair->record) judge(stored->record);
    require(pair->companion.present || pair->companion.counter.isNone(), "no counter without its item");
    require(pair->companion.present || !pair->companion.isOpen(), "no open term without the counter's item");
    if (const auto told = pair->answer().value()) judge(*told);
  } else {
    judge(pair.error());
  }
  if (const auto page = pageIn(subject.layout, where, body)) {
    for (const ListedLease& lease : page->leases) {
      require(!lease.key.name.ends_with("#fence"), "the item of a counter is no lease");
    }
  } else {
    judge(page.error());
  }
}

/// An answer without our version never makes a write count as applied.
void asWrites(const Subject& subject, const CallName& call, const boost::json::object& body) {
  const auto* item = body.contains("Attributes") ? body.at("Attributes").if_object() : nullptr;
  const auto* version = item != nullptr ? textIn(*item, "recordVersionNumber") : nullptr;
  const bool ours = version != nullptr && *version == "v2";
  const WriteOutcome outcome = writtenIn(subject, call, RecordVersion{"v2"}, body);
  const auto* applied = std::get_if<Applied>(&outcome);
  require((applied != nullptr) == ours, "a write is acknowledged by its own version only");
  require(applied == nullptr || applied->token <= maxFencingToken, "a token is exact in every reader");
  const auto* asked = item != nullptr ? numberIn(*item, "tenureStepDown") : nullptr;
  const bool told = std::holds_alternative<Applied>(askedIn(subject, call, FencingToken{7}, body));
  require(!told || (asked != nullptr && tokenFrom({asked->data(), asked->size()}) == FencingToken{7}),
          "a step-down is acknowledged by its term only");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tenure::fuzz::Choices choices{data, size};
  const std::uint8_t shape = choices.next();
  DynamoDbStoreOptions options{.table = "locks"};
  if (shape % 2 == 1) options.sortKey = "rangeKey";
  const Layout layout{options};
  const Subject subject{layout, where, billing};
  const CallName call{where, "renewing", &billing};
  const int status = shape % 4 < 2 ? 200 : (shape % 8 < 6 ? 400 : 500);
  const ParsedReply reply = parseReply(call, aws::JsonReply{status, std::string{choices.rest()}});
  if (!reply) {
    const Fault& fault = reply.error();
    judge(fault.error);
    require(status != 500 || fault.maybeApplied, "an answer of a failed server is no proof that nothing happened");
    if (!fault.maybeApplied) (void)causeIn(call, fault);
    return 0;
  }
  require(status == 200, "only a success is a success");
  require(!reply->contains("__type"), "what names an error is none");
  asReads(subject, *reply);
  asWrites(subject, call, *reply);
  return 0;
}
