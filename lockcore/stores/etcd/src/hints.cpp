#include "hints.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "record_codec.hpp"
#include "requests.hpp"
#include "state.hpp"

namespace tenure::etcd_store {
namespace {

/// A release writes both keys in one step, and all of a step comes in one line. Null: it is none, or the counter has
/// stayed as it was, and so is not known.
stored::LoadedLease releaseIn(const Keys& keys, const std::string& where, const LeaseKey& key, const WatchLine& line,
                              const KeyValue& record) {
  const auto counter = std::find_if(line.events.begin(), line.events.end(), [&](const WatchEvent& event) {
    return !event.erased && event.entry.changedAt == record.changedAt && keys.leaseAtCounter(event.entry.key) == key;
  });
  if (counter == line.events.end()) return nullptr;
  return std::make_shared<const State>(stateOf(keys, where, key, {record.changedAt, record.value},
                                               {record.changedAt, counter->entry.value}, record.changedAt));
}

stored::LeaseChange changeIn(const Keys& keys, const std::string& where, const LeaseKey& key, const WatchLine& line,
                             const WatchEvent& event) {
  stored::LeaseChange change{key};
  if (event.erased) return change;
  const auto read = recordFrom({where, key, event.entry.key}, event.entry.value);
  if (read.has_error()) return change;
  if (read->record.released) {
    change.release = releaseIn(keys, where, key, line, event.entry);
  } else {
    change.term = toString(read->record.token);
  }
  return change;
}

/// The store never deletes a counter, and never a record without writing its counter in the same step. All of a step
/// comes in one line.
bool tellsLoss(const Keys& keys, const WatchLine& line) {
  const auto hasCounter = [&](const LeaseKey& key) {
    return std::any_of(line.events.begin(), line.events.end(), [&](const WatchEvent& event) {
      return !event.erased && keys.leaseAtCounter(event.entry.key) == key;
    });
  };
  return std::any_of(line.events.begin(), line.events.end(), [&](const WatchEvent& event) {
    if (!event.erased) return false;
    const auto key = keys.leaseAtRecord(event.entry.key);
    return key ? !hasCounter(*key) : keys.leaseAtCounter(event.entry.key).has_value();
  });
}

}  // namespace

stored::StreamEvent streamEventIn(const Keys& keys, const std::string& where, const WatchLine& line) {
  stored::StreamEvent streamed{line.created, !line.events.empty(), tellsLoss(keys, line)};
  for (const WatchEvent& event : line.events) {
    const auto key = keys.leaseAtRecord(event.entry.key);
    if (key) streamed.changes.push_back(changeIn(keys, where, *key, line, event));
  }
  return streamed;
}

EtcdHints::EtcdHints(std::weak_ptr<Gateway> gateway, Keys keys, std::string where)
    : gateway_{std::move(gateway)}, keys_{std::move(keys)}, where_{std::move(where)} {}

std::shared_ptr<void> EtcdHints::open(const std::set<LeaseKey>& /*watched*/, stored::HintHandlers handlers) {
  const auto gateway = gateway_.lock();
  if (!gateway) return nullptr;
  StreamHandlers of{[keys = keys_, where = where_, handlers](std::string_view text) {
                      const auto line = watchLineFrom(text);
                      if (line.has_error()) return handlers.onEnd({line.error().what});
                      handlers.onEvent(streamEventIn(keys, where, *line));
                    },
                    [handlers](std::string why) { handlers.onEnd({std::move(why)}); }};
  return gateway->stream(watchPath, watchRequest(keys_.all()), silence, std::move(of));
}

}  // namespace tenure::etcd_store
