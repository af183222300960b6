#include "object_texts.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string_view>
#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "lockcore/kubernetes/annotations.hpp"
#include "lockcore/kubernetes/names.hpp"
#include "lockcore/port/json_text.hpp"
#include "lockcore/port/liveness_text.hpp"
#include "lockcore/port/successor_text.hpp"
#include "micro_time.hpp"
#include "record_codec.hpp"

namespace tenure::kubernetes_store {
namespace {

using boost::json::object;
using std::chrono::milliseconds;

/// The member as an object; made if it is missing.
object& objectAt(object& in, std::string_view name) {
  boost::json::value& value = in[name];
  if (!value.is_object()) value.emplace_object();
  return value.get_object();
}

/// An object under change.
class Edit {
 public:
  Edit(object whole, LeaseSpec spec) : whole_{std::move(whole)}, spec_{std::move(spec)} {}

  void set(std::string_view name, const std::string& text) { objectAt(metadata(), "annotations")[name] = text; }
  void erase(std::string_view name) { objectAt(metadata(), "annotations").erase(name); }
  /// Empty: there is none.
  void setOrErase(std::string_view name, const std::string& text) { text.empty() ? erase(name) : set(name, text); }
  void setOrErase(std::string_view name, bool flag) { setOrErase(name, flag ? std::string{yes} : std::string{}); }

  void identify(const Settings& settings, const LeaseKey& key) {
    object& labels = objectAt(metadata(), "labels");
    labels[managedBy] = ourselves;
    for (const auto& [name, text] : settings.labels) labels[name] = text;
    set(annotation::layout, std::string{presentLayout});
    if (isPlain(key)) return;
    set(annotation::name, key.name);
    setOrErase(annotation::sortKey, key.sortKey);
  }

  void count(const stored::Counter& counter) {
    set(annotation::counter, toString(counter.token));
    const milliseconds open = counter.openLease;
    setOrErase(annotation::openLease, open.count() > 0 ? std::to_string(open.count()) : std::string{});
  }

  /// A new term.
  void begin(const LeaseRecord& record, std::int64_t micros) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    spec_.transitions = std::min(spec_.transitions + 1, most);
    specObject()["leaseTransitions"] = spec_.transitions;
    specObject()["acquireTime"] = microTime(micros);
    specObject().erase("preferredHolder");
    hold(record, micros);
  }
  void hold(const LeaseRecord& record, std::int64_t micros) {
    // client-go tells renewals apart by whole seconds, so it may see one up to a second late.
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(record.leaseDuration).count() + 1;
    write(record.holder, seconds, micros);
  }
  /// As client-go writes a lease that it gives back.
  void free(std::int64_t micros) { write({}, 1, micros); }

  void keepRecord(const stored::StoredRecord& stored) {
    const LeaseRecord& record = stored.record;
    set(annotation::holder, record.holder);
    set(annotation::version, record.version.text());
    set(annotation::token, toString(record.token));
    set(annotation::lease, std::to_string(record.leaseDuration.count()));
    setOrErase(annotation::released, record.released);
    setOrErase(annotation::stepDown, stored.stepDown.isNone() ? std::string{} : toString(stored.stepDown));
    setOrErase(annotation::successor, successorText(record.successor, record.token));
    set(annotation::acquired, std::to_string(record.acquiredAtMillis));
    set(annotation::renewed, std::to_string(record.renewedAtMillis));
    setOrErase(annotation::livenessFile, record.livenessFile ? livenessText(*record.livenessFile) : std::string{});
    setOrErase(annotation::data, base64(record.data));
    setOrErase(annotation::attributes,
               record.attributes.empty() ? std::string{} : attributesToJson(record.attributes).value_or(std::string{}));
    erase(annotation::removed);
    bind();
  }

  void removeRecord() {
    for (const std::string_view name : annotation::ofRecord) erase(name);
    set(annotation::removed, std::string{yes});
    bind();
  }

  /// The annotations belong to the spec as it is now.
  void bind() { set(annotation::spec, bindingOf(spec_)); }

  [[nodiscard]] const LeaseSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] std::string text() const { return boost::json::serialize(whole_); }

 private:
  object& metadata() { return objectAt(whole_, "metadata"); }
  object& specObject() { return objectAt(whole_, "spec"); }

  void write(const std::string& holder, std::int64_t seconds, std::int64_t micros) {
    spec_.holder = holder;
    spec_.renewTime = microTime(micros);
    specObject()["holderIdentity"] = holder;
    specObject()["leaseDurationSeconds"] = seconds;
    specObject()["renewTime"] = spec_.renewTime;
    specObject()["leaseTransitions"] = spec_.transitions;
  }

  object whole_;
  LeaseSpec spec_;
};

std::int64_t nextMicros(const LeaseObject& seen, const WriteTime& time, std::int64_t wallMillis) {
  return nextRenewMicros(microsFrom(seen.spec.renewTime), time.clock, time.now, wallMillis);
}

/// The spec after a write of the record; 0: it stays as it is.
std::int64_t moveSpec(Edit& edit, const LeaseObject& seen, const stored::StoredLease& before, const LeaseRecord& record,
                      const WriteTime& time) {
  const auto* known = before.record.has_value() && *before.record ? &(*before.record)->record : nullptr;
  if (known != nullptr && known->version == record.version) return 0;
  if (known == nullptr || known->token != record.token) {
    const std::int64_t micros = nextRenewMicros(std::nullopt, std::nullopt, time.now, record.renewedAtMillis);
    edit.begin(record, micros);
    return micros;
  }
  const std::int64_t micros = nextMicros(seen, time, record.renewedAtMillis);
  record.released ? edit.free(micros) : edit.hold(record, micros);
  return micros;
}

/// What an operator has set. A record of another client becomes one of ours.
void correct(Edit& edit, const LeaseObject& seen, const stored::StoredLease& before, const stored::Correction& by,
             const WriteTime& time) {
  edit.free(nextMicros(seen, time, 0));
  const auto* known = before.record.has_value() && *before.record ? &**before.record : nullptr;
  if (known != nullptr) {
    stored::StoredRecord next = *known;
    next.record.token = by.token;
    next.record.version = RecordVersion{by.version};
    next.record.released = true;
    next.record.livenessFile.reset();
    next.stepDown = {};
    return edit.keepRecord(next);
  }
  edit.set(annotation::token, toString(by.token));
  edit.set(annotation::version, by.version);
  edit.setOrErase(annotation::released, true);
  edit.erase(annotation::stepDown);
  edit.erase(annotation::successor);
  edit.erase(annotation::livenessFile);
  edit.bind();
}

}  // namespace

std::string creationText(const Settings& settings, const LeaseKey& key, const stored::Counter& counter) {
  object whole;
  whole["apiVersion"] = apiVersion;
  whole["kind"] = "Lease";
  object& metadata = objectAt(whole, "metadata");
  metadata["name"] = objectNameOf(key);
  metadata["namespace"] = settings.inNamespace;
  objectAt(whole, "spec");
  Edit edit{std::move(whole), {}};
  edit.identify(settings, key);
  edit.count(counter);
  return edit.text();
}

Edited changeText(const Settings& settings, const LeaseKey& key, const LeaseObject& seen,
                  const stored::StoredLease& before, const stored::Change& change, const WriteTime& time) {
  Edit edit{seen.whole, seen.spec};
  std::int64_t micros = 0;
  edit.identify(settings, key);
  if (change.record) {
    micros = moveSpec(edit, seen, before, change.record->record, time);
    edit.keepRecord(*change.record);
  }
  if (change.correction) correct(edit, seen, before, *change.correction, time);
  if (change.erasesRecord()) {
    // Where the holder may live, the spec stays as it is, so that other clients wait for its lease as ours do.
    const bool over = change.counter && change.counter->openLease.count() == 0;
    if (over && !seen.spec.holder.empty()) edit.free(nextMicros(seen, time, 0));
    edit.removeRecord();
  }
  if (change.counter) edit.count(*change.counter);
  return {edit.text(), micros};
}

}  // namespace tenure::kubernetes_store
