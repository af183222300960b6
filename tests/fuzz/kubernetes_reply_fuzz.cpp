// Any bytes as an answer or a watch line of an API server of Kubernetes: a valid record, or a fault; never a success
// that does not show the write. And what is written into any object is read again.
#include <set>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "adapters/pod_label/src/pods.hpp"
#include "fuzz_support.hpp"
#include "lockcore/kubernetes/errors.hpp"
#include "lockcore/kubernetes/replies.hpp"
#include "lockcore/stores/kubernetes/src/hints.hpp"
#include "lockcore/stores/kubernetes/src/object_texts.hpp"
#include "lockcore/stores/kubernetes/src/record_codec.hpp"
#include "lockcore/stores/kubernetes/src/state.hpp"

namespace {

using namespace tenure;
using namespace tenure::kubernetes_store;
using tenure::fuzz::require;

const std::string where = "Kubernetes at https://a, namespace n (fuzz)";
const LeaseKey billing{"billing"};
const Settings settings{"n"};

void judge(const StoreError& error) { tenure::fuzz::requireTellable(error.message); }

void judge(const LeaseRecord& record) {
  require(!record.holder.empty() && !record.version.text().empty(), "a record has a holder and a version");
  require(record.leaseDuration.count() > 0 && record.leaseDuration <= maxRecordLease, "a lease lasts, and ends");
  require(record.token <= maxFencingToken, "a token is exact in every reader");
  require(!record.inherited && !record.vanished, "one history");
}

/// The object as the server would show it after this write.
LeaseObject after(const LeaseObject& seen, const std::string& body) {
  boost::json::value shown = boost::json::parse(body);
  shown.get_object()["metadata"].get_object()["resourceVersion"] = std::to_string(seen.revision + 1);
  return leaseObjectFrom(std::move(shown)).value();
}

void acquireOn(const LeaseObject& seen, const State& state) {
  WriteRequest request{billing};
  request.record = {"me#1", RecordVersion{"w"}, std::chrono::milliseconds{2500}};
  const ReadOutcome told = state.answer();
  if (told.has_value() && *told) request.expected.push_back((*told)->version);
  const auto decision = stored::decideWrite(where, request, state);
  const auto* change = std::get_if<stored::Change>(&decision);
  if (change == nullptr) return;
  require(change->record && change->record->record.token.value() > seen.revision, "a token is above the revision");
  const Edited edited = changeText(settings, billing, seen, state, *change, {});
  const State shown = stateOf(where, billing, after(seen, edited.text));
  require(showsChange(state, *change, shown), "what is written is read again");
  require(!showsChange(shown, *change, shown), "an object from before shows no write");
}

void asObject(const std::string& text) {
  const auto read = leaseFrom(text, "billing");
  if (read.has_error()) return judge(StoreError{ErrorClass::transient, read.error().what});
  require(read->revision > 0 && !read->uid.empty(), "an object has a revision and a uid");
  const State state = stateOf(where, billing, *read);
  if (state.record.has_error()) judge(state.record.error());
  if (state.record.has_value() && *state.record) judge((*state.record)->record);
  if (state.counter.has_error()) judge(state.counter.error());
  require(!state.nothing, "an object is something");
  if (const auto tokens = tokensIn({where, billing}, *read); tokens.has_error()) judge(tokens.error());
  acquireOn(*read, state);
}

void asRejection(int status, const std::string& body) {
  const auto fault = faultIn({where, "renewing lease billing"}, Reply{status, body});
  require(fault.has_value() == (status != 200 && status != 201), "every other status is a fault");
  if (!fault) return;
  judge(fault->error);
  static const std::set<int> rejections{400, 401, 403, 404, 405, 409, 413, 415, 422, 429};
  require(fault->maybeApplied || rejections.contains(status), "no other status proves a rejection");
  const Reply reply{status, body};
  require(!saysAbsent(reply, "billing") || body.find("billing") != std::string::npos, "an absent Lease is named");
}

void asPods(const std::string& text) {
  const auto pods = pod_label::podsFrom(text);
  if (pods.has_error()) return;
  for (const pod_label::Pod& one : *pods) {
    require(!one.name.empty() && !one.resourceVersion.empty(), "a pod has a name and a version");
    require(one.token <= maxFencingToken, "a token is exact in every reader");
    const auto plan = pod_label::planFor(one, *pods, FencingToken{7});
    require(!plan.later || plan.changes.empty(), "where a later term leads, nothing is changed");
    for (const pod_label::Change& change : plan.changes) {
      require(change.leads == (change.pod == one.name), "the own pod alone gets the label");
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tenure::fuzz::Choices choices{data, size};
  const std::uint8_t status = choices.next();
  const std::string text{choices.rest()};
  asObject(text);
  asRejection(200 + status * 2, text);
  asRejection(201 + status * 2, text);
  if (const auto page = pageFrom(text)) {
    for (const LeaseObject& one : page->items) require(!one.name.empty(), "an object has a name");
  }
  if (const auto event = eventFrom(text)) {
    static_cast<void>(streamEventIn(where, *event));
    require(event->object.has_value() ==
                (event->kind == WatchEvent::Kind::changed || event->kind == WatchEvent::Kind::deleted),
            "an event that has an object is about one");
  }
  static_cast<void>(rightsFrom(text));
  asPods(text);
  return 0;
}
