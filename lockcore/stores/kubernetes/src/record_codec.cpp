#include "record_codec.hpp"

#include <algorithm>
#include <utility>

#include <boost/json/string.hpp>

#include "lockcore/kubernetes/annotations.hpp"
#include "lockcore/kubernetes/names.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/json_text.hpp"
#include "lockcore/port/liveness_text.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/saturating_time.hpp"
#include "lockcore/port/stored_key.hpp"
#include "lockcore/port/successor_text.hpp"
#include "micro_time.hpp"

namespace tenure::kubernetes_store {
namespace {

using std::chrono::milliseconds;

/// The name of somebody who has none: its release leaves no trace of it.
constexpr std::string_view nameless = "unknown (released by another client)";
/// Behind the name of a holder of ours whose lease another client has given back. It is not its record any more.
constexpr std::string_view taken = " (given away by another client)";

std::string annotated(const LeaseObject& object, std::string_view name) {
  const auto* text = object.annotation(name);
  return text != nullptr ? std::string{viewOf(*text)} : std::string{};
}

bool isBound(const LeaseObject& object) {
  const auto* text = object.annotation(annotation::spec);
  return text != nullptr && viewOf(*text) == bindingOf(object.spec);
}

bool isRemoved(const LeaseObject& object) { return annotated(object, annotation::removed) == yes; }

bool hasOtherLayout(const LeaseObject& object) {
  return object.hasAnnotation(annotation::layout) && annotated(object, annotation::layout) != presentLayout;
}

/// Reads the annotations one by one. The first one that makes no sense is kept as the fault.
class AnnotationReader {
 public:
  explicit AnnotationReader(const LeaseObject& from) : from_{from} {
    if (hasOtherLayout(from)) fault(annotation::layout, "holds " + shown(annotation::layout) + ", another release's");
  }

  std::string text(std::string_view name) {
    if (annotated(from_, name).empty()) fault(name, from_.hasAnnotation(name) ? "is empty" : "is missing");
    return annotated(from_, name);
  }

  std::int64_t number(std::string_view name, std::int64_t low, std::int64_t high) {
    const auto value = numberFrom<std::int64_t>(annotated(from_, name));
    if (value && *value >= low && *value <= high) return *value;
    const std::string what = from_.hasAnnotation(name) ? "holds " + shown(name) : std::string{"is missing"};
    fault(name, what + ", allowed is " + std::to_string(low) + " to " + std::to_string(high));
    return low;
  }

  FencingToken token(std::string_view name, std::int64_t least) {
    return FencingToken{
        static_cast<std::uint64_t>(number(name, least, static_cast<std::int64_t>(maxFencingToken.value())))};
  }

  milliseconds lease(std::string_view name, std::int64_t least) {
    return milliseconds{number(name, least, maxRecordLease.count())};
  }

  bool flag(std::string_view name) {
    const bool there = from_.hasAnnotation(name);
    if (there && annotated(from_, name) != yes) fault(name, "holds " + shown(name) + ", allowed is \"true\"");
    return there;
  }

  std::string data() {
    auto bytes = bytesFromBase64(annotated(from_, annotation::data));
    if (!bytes) fault(annotation::data, "is not base64");
    return bytes ? std::move(*bytes) : std::string{};
  }

  std::map<std::string, std::string> attributes() {
    if (!from_.hasAnnotation(annotation::attributes)) return {};
    auto all = attributesFromJson(annotated(from_, annotation::attributes));
    if (!all) fault(annotation::attributes, "is not a JSON object of texts");
    return all ? std::move(*all) : std::map<std::string, std::string>{};
  }

  /// For annotations that decide nothing: anything that is not a number counts as zero.
  [[nodiscard]] std::int64_t display(std::string_view name) const {
    return numberFrom<std::int64_t>(annotated(from_, name)).value_or(0);
  }

  void fault(std::string_view name, const std::string& what) {
    if (fault_.empty()) fault_ = "annotation " + std::string{name} + ' ' + what;
  }
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  [[nodiscard]] std::string shown(std::string_view name) const {
    return inQuotes(annotated(from_, name).substr(0, 40));
  }

  const LeaseObject& from_;
  std::string fault_;
};

StoreError corruptObject(const Place& place, const LeaseObject& object, const std::string& fault) {
  return {ErrorClass::corrupt,
          place.store + ": lease " + toString(place.lease) + ": " + fault + " of Lease " + object.name +
              ". This release of tenure writes nothing like that: it was probably edited by hand, or written by a "
              "newer release. It is left as it is, and no candidate of tenure can take the lease until it is repaired "
              "(`kubectl edit lease " +
              object.name + "`). If a token is too high, use `tenure fence recover`"};
}

/// Who has the lease by a rule that this library does not take part in; empty: nobody.
std::optional<StoreError> errorIn(const Place& place, const LeaseObject& object) {
  const std::string start = place.store + ": lease " + toString(place.lease) + ": Lease " + object.name;
  if (!object.spec.strategy.empty()) {
    return StoreError{ErrorClass::corrupt, start + " has spec.strategy " + inQuotes(object.spec.strategy) +
                                               ": controllers of Kubernetes choose its holder (coordinated leader "
                                               "election). tenure does not take part in that; use another name"};
  }
  if (leaseIn(object) == place.lease || !object.hasAnnotation(annotation::name)) return std::nullopt;
  return StoreError{ErrorClass::corrupt, start + " is, by its annotation " + std::string{annotation::name} +
                                             ", lease " + inQuotes(annotated(object, annotation::name)) +
                                             ", whose name is written in the same way; use another name"};
}

StoreResult<StoredRecord> ownRecord(const Place& place, const LeaseObject& object) {
  AnnotationReader reader{object};
  StoredRecord out;
  LeaseRecord& record = out.record;
  record.holder = reader.text(annotation::holder);
  record.version = RecordVersion{reader.text(annotation::version)};
  record.token = reader.token(annotation::token, 1);
  record.leaseDuration = reader.lease(annotation::lease, 1);
  record.released = reader.flag(annotation::released);
  if (object.hasAnnotation(annotation::stepDown)) out.stepDown = reader.token(annotation::stepDown, 0);
  record.data = reader.data();
  record.attributes = reader.attributes();
  if (object.spec.holder != (record.released ? std::string{} : record.holder)) {
    reader.fault(annotation::holder, "and spec.holderIdentity do not agree");
  }
  if (!reader.fault().empty()) return corruptObject(place, object, reader.fault());
  record.successor = successorFrom(annotated(object, annotation::successor), record.token);
  record.livenessFile = livenessFileFrom(annotated(object, annotation::livenessFile));
  record.acquiredAtMillis = reader.display(annotation::acquired);
  record.renewedAtMillis = reader.display(annotation::renewed);
  const std::string& preferred = object.spec.preferredHolder;
  if (!preferred.empty() && preferred != record.holder) out.stepDown = record.token;
  return out;
}

std::string foreignVersion(const LeaseObject& object) {
  const std::string& renewed = object.spec.renewTime;
  return (renewed.empty() ? std::string{"-"} : renewed) + ' ' + object.resourceVersion + ' ' + object.spec.holder;
}

std::int64_t millisOf(const std::string& time) { return microsFrom(time).value_or(0) / 1000; }

milliseconds leaseAnnotated(const LeaseObject& object, std::string_view name) {
  return saturating::leaseOf(annotated(object, name));
}

/// How many terms there were when a holder of ours was written into the spec, from the text to which the annotations
/// belong (bindingOf). Empty: nobody of ours was.
std::optional<std::int64_t> termsWhenOursWasHeld(const std::string& bound) {
  const auto first = bound.find(' ');
  const auto second = first != std::string::npos ? bound.find(' ', first + 1) : first;
  if (second == std::string::npos || second + 1 == bound.size()) return std::nullopt;
  return numberFrom<std::int64_t>(bound.substr(first + 1, second - first - 1));
}

/// Ours was held when the holder went from the spec, and our release did not do it. Whoever takes a lease over counts a
/// term; somebody may have emptied the spec before.
bool isOursGivenAway(const LeaseObject& object) {
  const auto terms = termsWhenOursWasHeld(annotated(object, annotation::spec));
  const bool open = object.hasAnnotation(annotation::token) || object.hasAnnotation(annotation::openLease);
  return terms && open && object.spec.holder.empty() && object.spec.transitions <= *terms;
}

/// What the other client's record states, and never less than ours did if that was given away.
milliseconds leaseOf(const LeaseObject& object, bool givenAway) {
  constexpr auto most = std::chrono::duration_cast<std::chrono::seconds>(maxRecordLease);
  const std::chrono::seconds stated{object.spec.leaseSeconds.value_or(unstatedLease.count())};
  const milliseconds theirs = std::min(stated, most);
  if (!givenAway) return theirs;
  const milliseconds ours =
      std::max(leaseAnnotated(object, annotation::lease), leaseAnnotated(object, annotation::openLease));
  return std::max(theirs, ours.count() > 0 ? ours : milliseconds{unstatedLease});
}

StoredRecord foreignRecord(const LeaseObject& object) {
  const LeaseSpec& spec = object.spec;
  StoredRecord out;
  LeaseRecord& record = out.record;
  record.holder = spec.holder.empty() ? std::string{nameless} : spec.holder;
  record.version = RecordVersion{foreignVersion(object)};
  const bool givenAway = isOursGivenAway(object);
  record.leaseDuration = leaseOf(object, givenAway);
  record.released = spec.holder.empty() && !givenAway;
  const std::string before = annotated(object, annotation::holder);
  if (givenAway) record.holder = (before.empty() ? "unknown" : before) + std::string{taken};
  record.keptAtRelease = true;
  record.data = bytesFromBase64(annotated(object, annotation::data)).value_or(std::string{});
  record.attributes =
      attributesFromJson(annotated(object, annotation::attributes)).value_or(std::map<std::string, std::string>{});
  record.acquiredAtMillis = millisOf(spec.acquireTime);
  record.renewedAtMillis = millisOf(spec.renewTime);
  return out;
}

StoreResult<std::optional<StoredRecord>> recordIn(const Place& place, const LeaseObject& object) {
  using Found = std::optional<StoredRecord>;
  if (auto refused = errorIn(place, object)) return *std::move(refused);
  if (object.spec.isBare()) return Found{};
  if (!isBound(object)) return Found{foreignRecord(object)};
  if (isRemoved(object) && !hasOtherLayout(object)) return Found{};
  auto own = ownRecord(place, object);
  if (own.has_error()) return own.error();
  return Found{std::move(*own)};
}

StoreResult<Counter> counterIn(const Place& place, const LeaseObject& object) {
  AnnotationReader reader{object};
  Counter counter;
  if (object.hasAnnotation(annotation::counter)) counter.token = reader.token(annotation::counter, 0);
  if (object.hasAnnotation(annotation::openLease)) counter.openLease = reader.lease(annotation::openLease, 0);
  if (!reader.fault().empty()) return corruptObject(place, object, reader.fault());
  return counter;
}

}  // namespace

std::string bindingOf(const LeaseSpec& spec) {
  return spec.renewTime + ' ' + std::to_string(spec.transitions) + ' ' + spec.holder;
}

stored::StoredLease storedIn(const Place& place, const LeaseObject& object) {
  stored::StoredLease out;
  // Other clients count the terms too. What they wrote can be above the revisions only by hand, and then it counts.
  out.revision = std::max(object.revision, static_cast<std::uint64_t>(object.spec.transitions));
  out.record = recordIn(place, object);
  out.counter = counterIn(place, object);
  return out;
}

StoreResult<StoredTokens> tokensIn(const Place& place, const LeaseObject& object) {
  if (auto refused = errorIn(place, object)) return *std::move(refused);
  StoredTokens out;
  out.counter = annotated(object, annotation::counter);
  if (out.counter.empty() && object.hasAnnotation(annotation::counter)) out.counter = "(empty)";
  out.lease = leaseAnnotated(object, annotation::openLease);
  const bool bound = isBound(object);
  if (object.spec.isBare() || (bound && isRemoved(object))) return out;
  if (!bound) {
    const LeaseRecord record = foreignRecord(object).record;
    out.version = record.version.text();
    out.holder = record.holder;
    out.released = record.released;
    out.lease = std::max(out.lease, record.leaseDuration);
    return out;
  }
  out.copy = annotated(object, annotation::token);
  out.version = annotated(object, annotation::version);
  out.holder = annotated(object, annotation::holder);
  out.released = object.hasAnnotation(annotation::released);
  out.lease = std::max(out.lease, leaseAnnotated(object, annotation::lease));
  if (out.version.empty()) return corruptObject(place, object, "there is no version among the annotations");
  return out;
}

bool isOverwritten(const LeaseObject& object) {
  return object.hasAnnotation(annotation::token) && !object.spec.isBare() && !isBound(object);
}

bool isCorrected(const LeaseObject& object, FencingToken token, const std::string& version) {
  return isBound(object) && annotated(object, annotation::token) == toString(token) &&
         annotated(object, annotation::version) == version && annotated(object, annotation::released) == yes;
}

std::optional<LeaseKey> leaseIn(const LeaseObject& object) {
  if (!object.hasAnnotation(annotation::name)) return LeaseKey{object.name};
  LeaseKey key{annotated(object, annotation::name), annotated(object, annotation::sortKey)};
  if (!faultsOfStored(key).empty() || objectNameOf(key) != object.name) return std::nullopt;
  return key;
}

std::string termIn(const LeaseObject& object, const stored::StoredLease& lease) {
  if (lease.record.has_error() || !*lease.record || (*lease.record)->record.released) return {};
  const LeaseRecord& record = (*lease.record)->record;
  if (!record.token.isNone()) return toString(record.token);
  return record.holder + ' ' + std::to_string(object.spec.transitions);
}

}  // namespace tenure::kubernetes_store
