#include "lease_view.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "config/src/duration.hpp"
#include "election/src/leader_document.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/saturating_time.hpp"
#include "output.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;

std::string incarnationOf(const std::string& holder) {
  const std::size_t name = nameOf(holder).size();
  return name < holder.size() ? holder.substr(name + 1) : "";
}

std::string_view toString(LeaseViewState state) {
  switch (state) {
    case LeaseViewState::none:
      return "none";
    case LeaseViewState::released:
      return "released";
    case LeaseViewState::held:
      return "held";
    case LeaseViewState::vanished:
      return "vanished";
    case LeaseViewState::paused:
      return "paused";
    case LeaseViewState::silent:
      return "silent";
  }
  return "invalid";
}

/// Milliseconds are of no use once the time is hours.
std::string ago(milliseconds time) {
  if (time.count() < 0) {
    return fmt::format("{} in the future of this machine's clock",
                       durationText(saturating::difference(milliseconds{0}, time)));
  }
  using std::chrono::seconds;
  return durationText(time < seconds{10} ? time : std::chrono::floor<seconds>(time)) + " ago";
}

/// By the wall clocks, for people.
bool isOver(const LeaseView& view) noexcept { return view.renewedAgo > view.record->leaseDuration; }

/// A time in the future says as little: the clocks differ.
bool isFarAway(const LeaseView& view) noexcept { return isOver(view) || view.renewedAgo < -view.record->leaseDuration; }

std::string stateText(const LeaseView& view, bool colours) {
  switch (view.state()) {
    case LeaseViewState::none:
      return coloured("no leader; there has been none yet", Colour::warning, colours);
    case LeaseViewState::released:
      return coloured(
          view.pause ? "no leader; the last pause has ended" : "no leader; the last leader has released the lease",
          Colour::warning, colours);
    case LeaseViewState::held:
      return coloured("held", Colour::good, colours);
    case LeaseViewState::vanished:
      return coloured("no leader; the record of the last term was deleted, so candidates wait until its lease is over",
                      Colour::bad, colours);
    case LeaseViewState::paused:
      return coloured(isOver(view) ? "paused: no leader; by the wall clocks the pause is over" : "paused: no leader",
                      Colour::warning, colours);
    case LeaseViewState::silent:
      break;
  }
  return coloured("silent: not renewed for longer than the lease, so the holder is probably gone", Colour::bad,
                  colours);
}

std::string jsonTime(std::int64_t millis) { return millis == 0 ? "null" : jsonString(wallClockTextForDisplay(millis)); }

/// Other clients write no times; then nothing can be said about a holder's silence.
bool isTimed(const LeaseRecord& record) noexcept { return record.renewedAtMillis != 0; }

std::string pauseJson(const Pause& pause) {
  return fmt::format(R"({{"by":{},"why":{}}})", jsonString(pause.by), jsonString(pause.why));
}

std::string timeText(std::int64_t millis) {
  return millis != 0 ? wallClockTextForDisplay(millis) : "not stated by the writer";
}

}  // namespace

bool isHeld(const std::optional<LeaseRecord>& record) noexcept {
  return record && !record->released && !record->vanished;
}

LeaseViewState LeaseView::state() const noexcept {
  if (!record) return LeaseViewState::none;
  if (record->vanished) return LeaseViewState::vanished;
  if (record->released) return LeaseViewState::released;
  if (pause) return LeaseViewState::paused;
  const auto proof = isFarAway(*this) ? record->leaseDuration / 2 : record->leaseDuration;
  return unrenewedFor >= proof ? LeaseViewState::silent : LeaseViewState::held;
}

bool LeaseView::isDoubtful() const noexcept {
  return state() == LeaseViewState::held && isFarAway(*this) && !seenRenewed;
}

LeaseView viewOf(std::string group, std::string store, std::optional<LeaseRecord> record, std::int64_t nowMillis) {
  LeaseView view{std::move(group), std::move(store), std::move(record)};
  if (view.record && isTimed(*view.record)) {
    view.renewedAgo = saturating::difference(milliseconds{nowMillis}, milliseconds{view.record->renewedAtMillis});
  }
  if (view.record) view.pause = pauseIn(view.record->holder);
  if (isHeld(view.record)) view.address = statementIn(view.record->data, view.record->token).address;
  return view;
}

std::string toTable(const LeaseView& view, bool colours) {
  std::vector<std::pair<std::string, std::string>> rows{{"group", toString(LeaseKey{view.group})},
                                                        {"state", stateText(view, colours)}};
  if (view.record) {
    const LeaseRecord& record = *view.record;
    if (view.pause) {
      rows.emplace_back("paused by", shown(view.pause->by));
      rows.emplace_back("why", shown(view.pause->why));
    } else if (!record.vanished) {
      rows.emplace_back(record.released ? "last leader" : "leader", personOf(record.holder));
    }
    if (!view.address.empty()) rows.emplace_back("address", shown(view.address));
    rows.emplace_back("fencing token", record.token.isNone() ? "none" : toString(record.token));
    if (!record.vanished) {
      rows.emplace_back("since", timeText(record.acquiredAtMillis));
      rows.emplace_back(record.released ? "released" : "last renewal",
                        timeText(record.renewedAtMillis) + (isTimed(record) ? ", " + ago(view.renewedAgo) : ""));
    }
    if (record.released && !record.successor.name.empty()) {
      rows.emplace_back("released for", shown(record.successor.name));
    }
    rows.emplace_back("lease", durationText(record.leaseDuration));
  }
  rows.emplace_back("store", shown(view.store));
  if (!view.warning.empty()) rows.emplace_back("warning", coloured(shown(view.warning), Colour::bad, colours));
  std::string out = table(rows);
  if (view.record && isTimed(*view.record))
    out += coloured("(times by the wall clock of the writer, for people only)\n", Colour::dim, colours);
  return out;
}

std::string toJson(const LeaseView& view) {
  const bool leads = view.state() == LeaseViewState::held || view.state() == LeaseViewState::silent;
  const bool paused = view.state() == LeaseViewState::paused;
  std::string holder = "null", token = "null", duration = "null", acquired = "null", renewed = "null", ago = "null";
  std::string version = "null", releasedFor;
  if (view.record) {
    const LeaseRecord& record = *view.record;
    if (!record.vanished && !view.pause)
      holder = fmt::format(R"({{"name":{},"incarnation":{},"id":{}}})", jsonString(nameOf(record.holder)),
                           jsonString(incarnationOf(record.holder)), jsonString(record.holder));
    if (!record.token.isNone()) token = toString(record.token);
    duration = std::to_string(record.leaseDuration.count());
    acquired = jsonTime(record.acquiredAtMillis);
    renewed = jsonTime(record.renewedAtMillis);
    if (isTimed(record)) ago = std::to_string(view.renewedAgo.count());
    version = jsonString(record.version.text());
    if (record.released) releasedFor = record.successor.name;
  }
  return fmt::format(
      R"({{"group":{},"state":"{}","leader":{},"last_leader":{},"fencing_token":{},"lease_duration_ms":{},)"
      R"("acquired_at":{},"renewed_at":{},"renewed_ago_ms":{},"record_version":{},"address":{},"paused":{},"released_for":{},)"
      R"("store":{},"warning":{}}})"
      "\n",
      jsonString(view.group), toString(view.state()), leads ? holder : "null", leads ? "null" : holder, token, duration,
      acquired, renewed, ago, version, jsonStringOrNull(view.address), paused ? pauseJson(*view.pause) : "null",
      jsonStringOrNull(releasedFor), jsonString(view.store), jsonStringOrNull(view.warning));
}

}  // namespace tenure::cli
