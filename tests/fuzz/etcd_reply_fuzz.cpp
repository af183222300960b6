// Any bytes as an answer or a watch line of etcd: a valid record, or a fault; never a success that does not show the
// write.
#include <set>

#include "fuzz_support.hpp"
#include "lockcore/stores/etcd/src/errors.hpp"
#include "lockcore/stores/etcd/src/replies.hpp"
#include "lockcore/stores/etcd/src/state.hpp"

namespace {

using namespace tenure;
using namespace tenure::etcd_store;
using tenure::fuzz::require;

const std::string where = "etcd at http://a (fuzz)";
const LeaseKey billing{"billing"};
const std::string recordKey = "/tenure/lease/billing";

void judge(const StoreError& error) { tenure::fuzz::requireTellable(error.message); }

void judge(const LeaseRecord& record) {
  require(!record.holder.empty() && !record.version.text().empty(), "a record has a holder and a version");
  require(record.leaseDuration.count() > 0 && record.leaseDuration <= maxRecordLease, "a lease lasts, and ends");
  require(record.token <= maxFencingToken, "a token is exact in every reader");
}

void asValues(const std::string& text) {
  const Place place{where, billing, recordKey};
  if (const auto stored = recordFrom(place, text)) {
    judge(stored->record);
    require(stored->record.token.value() > 0, "a record has a token");
    const auto again = recordFrom(place, textOf(*stored));
    require(again.has_value() && *again == *stored, "what is written is read again");
  } else {
    judge(stored.error());
  }
  if (const auto counter = counterFrom(place, text)) {
    require(*counterFrom(place, textOf(*counter)) == *counter, "a counter that is written is read again");
  }
  if (const auto tokens = tokensFrom(place, text, text)) {
    require(tokens->hasRecord() && !tokens->counter.empty(), "what is there is shown");
    static_cast<void>(corrected(text, FencingToken{7}, "w"));
  }
}

void asAnswer(const std::string& body) {
  const auto reply = txnReplyFrom(body);
  if (reply.has_error()) return judge(StoreError{ErrorClass::transient, reply.error().what});
  require(reply->revision > 0, "an answer has a revision");
  const State seen{{3}, {2, "{}"}, {2, "{}"}};
  const Change renewal{.record = StoredRecord{}};
  if (showsChange(seen, renewal, *reply)) {
    require(body.find("response_put") != std::string::npos, "a write is acknowledged by what it wrote");
    require(reply->revision > 3, "a write has a revision of its own");
  }
  const Change removal{.counter = Counter{}};
  if (showsChange(seen, removal, *reply)) {
    require(reply->parts.front().erased == 1, "a removal is acknowledged by the key that went");
  }
}

void asRejection(int status, const std::string& body) {
  const auto fault = faultIn({where, "renewing lease billing"}, Reply{status, body, "http://a"});
  require(fault.has_value() == (status != 200), "every other status is a fault");
  if (!fault) return;
  judge(fault->error);
  static const std::set<int> rejections{400, 401, 403, 404, 405, 412, 413, 429, 501};
  const bool hasCode = body.find("\"code\"") != std::string::npos;
  require(fault->maybeApplied || hasCode || rejections.contains(status), "no other status proves a rejection");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tenure::fuzz::Choices choices{data, size};
  const std::uint8_t status = choices.next();
  const std::string text{choices.rest()};
  asValues(text);
  asAnswer(text);
  asRejection(200 + status * 2, text);
  if (const auto line = watchLineFrom(text)) {
    for (const WatchEvent& event : line->events) require(!event.entry.key.empty(), "an event has a key");
  }
  return 0;
}
