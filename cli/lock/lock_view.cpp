#include "lock_view.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tenure/lockcore/clock.hpp>

#include "cli/text/output.hpp"
#include "config/src/duration.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/saturating_time.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

milliseconds wholeMillis(nanoseconds time) { return std::chrono::floor<milliseconds>(time); }

std::string jsonTokenOf(FencingToken token) { return token.isNone() ? "null" : toString(token); }
std::string shownToken(FencingToken token) { return token.isNone() ? "none" : toString(token); }

std::string attributesJson(const std::map<std::string, std::string>& attributes) {
  std::string out;
  for (const auto& [name, value] : attributes) {
    out += (out.empty() ? "" : ",") + jsonString(name) + ":" + jsonString(value);
  }
  return "{" + out + "}";
}

/// The user's bytes may be anything, such as a control sequence for the terminal; they are shown where they are text.
std::string dataText(const std::string& data) {
  const bool isText = isUtf8(data) && std::none_of(data.begin(), data.end(), [](char c) {
                        return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
                      });
  return isText ? shown(data) : std::to_string(data.size()) + " bytes";
}

Colour colourOf(LockState state) {
  switch (state) {
    case LockState::renewed:
      return Colour::good;
    case LockState::stale:
      return Colour::warning;
    case LockState::corrupt:
      return Colour::bad;
    case LockState::released:
      return Colour::dim;
    case LockState::held:
      break;
  }
  return Colour::none;
}

/// STATE, LOCK, OWNER, TOKEN, LEASE, ACQUIRED. A record that is not understood has a message from OWNER on.
using LockCells = std::array<std::string, 6>;
constexpr std::size_t columnsBeforeMessage = 2;

LockCells lockCellsOf(const LockWatch::Row& row) {
  std::string state{toString(row.state)};
  if (row.record.has_error()) return {std::move(state), toString(row.key), shown(row.record.error().message)};
  const LeaseRecord& record = *row.record;
  const std::int64_t acquired = record.acquiredAtMillis;
  return {std::move(state),
          toString(row.key),
          shown(record.holder, mostOfHolder),
          shownToken(record.token),
          durationText(record.leaseDuration),
          acquired == 0 ? "unknown" : wallClockTextForDisplay(acquired)};
}

}  // namespace

std::string jsonTimeOf(std::int64_t millis) {
  return millis == 0 ? "null" : jsonString(wallClockTextForDisplay(millis));
}

std::string jsonSortOf(const LeaseKey& key) { return key.sortKey.empty() ? "null" : jsonString(key.sortKey); }

std::string ageText(std::int64_t acquiredAtMillis) {
  using std::chrono::seconds;
  if (acquiredAtMillis == 0) return {};
  const auto age = saturating::difference(milliseconds{wallClockMillisForDisplay()}, milliseconds{acquiredAtMillis});
  const std::string when = "acquired " + wallClockTextForDisplay(acquiredAtMillis);
  if (age.count() < 0) return when + ", in the future of this machine's clock";
  return when + ", " + durationText(age < seconds{10} ? age : std::chrono::floor<seconds>(age)) +
         " ago by the wall clocks";
}

std::string toJson(const LockToken& token) {
  const auto remaining = token.remaining();
  return fmt::format(
      R"({{"lock":{},"sort":{},"lock_token":{},"owner":{},"fencing_token":{},"lease_ms":{},"remaining_ms":{},)"
      R"("acquired_at":{},"record_version":{},"store":{}}})"
      "\n",
      jsonString(token.key().name), jsonSortOf(token.key()), jsonString(token.text()), jsonString(token.owner()),
      jsonTokenOf(token.fencingToken()), token.lease().count(),
      remaining ? std::to_string(wholeMillis(*remaining).count()) : "null", jsonTimeOf(token.acquiredAtMillis()),
      jsonString(token.version().text()), jsonString(token.store()));
}

std::string_view wordOf(const LockError& error) {
  switch (error.code) {
    case LockErrc::invalidOptions:
      return "misuse";
    case LockErrc::timeout:
      return "timed_out";
    case LockErrc::notHeld:
      return "released";
    case LockErrc::lost:
      return error.reason == RevokeReason::expired ? "expired" : "lost";
    case LockErrc::storeUnavailable:
    case LockErrc::accessDenied:
    case LockErrc::storeMisconfigured:
    case LockErrc::recordCorrupt:
      return "store";
    default:
      return toString(error.code);
  }
}

std::string toJson(const LockError& error) {
  std::string owner = "null", token = "null", acquired = "null";
  if (error.holder) {
    owner = jsonString(error.holder->holder);
    token = jsonTokenOf(error.holder->token);
    acquired = jsonTimeOf(error.holder->acquiredAtMillis);
  }
  return fmt::format(R"({{"error":"{}","message":{},"holder":{},"fencing_token":{},"acquired_at":{}}})"
                     "\n",
                     wordOf(error), jsonString(error.message), owner, token, acquired);
}

std::string toJson(const LockWatch::Row& row, const std::string& store) {
  if (row.record.has_error()) {
    return fmt::format(R"({{"lock":{},"sort":{},"state":"corrupt","message":{},"store":{}}})"
                       "\n",
                       jsonString(row.key.name), jsonSortOf(row.key), jsonString(row.record.error().message),
                       jsonString(store));
  }
  const LeaseRecord& record = *row.record;
  return fmt::format(
      R"({{"lock":{},"sort":{},"state":"{}","owner":{},"fencing_token":{},"lease_ms":{},"unrenewed_ms":{},)"
      R"("acquired_at":{},"renewed_at":{},"record_version":{},"data":{},"attributes":{},"store":{},)"
      R"("warning":{}}})"
      "\n",
      jsonString(row.key.name), jsonSortOf(row.key), toString(row.state), jsonString(record.holder),
      jsonTokenOf(record.token), record.leaseDuration.count(), wholeMillis(row.unrenewedFor).count(),
      jsonTimeOf(record.acquiredAtMillis), jsonTimeOf(record.renewedAtMillis), jsonString(record.version.text()),
      jsonStringOrNull(record.data), attributesJson(record.attributes), jsonString(store),
      jsonStringOrNull(row.warning));
}

std::string jsonOfNone(const LeaseKey& key, const std::string& store, const std::string& warning) {
  return fmt::format(
      R"({{"lock":{},"sort":{},"state":"none","owner":null,"fencing_token":null,"lease_ms":null,"unrenewed_ms":null,)"
      R"("acquired_at":null,"renewed_at":null,"record_version":null,"data":null,"attributes":{{}},"store":{},)"
      R"("warning":{}}})"
      "\n",
      jsonString(key.name), jsonSortOf(key), jsonString(store), jsonStringOrNull(warning));
}

std::string lockTable(const LeaseKey& key, const LeaseRecord& record, const std::string& store) {
  std::vector<std::pair<std::string, std::string>> rows{
      {"lock", toString(key)},
      {"state", record.released ? "released" : "held"},
      {record.released ? "last owner" : "owner", shown(record.holder, mostOfHolder)}};
  rows.emplace_back("fencing token", shownToken(record.token));
  const std::string age = ageText(record.acquiredAtMillis);
  rows.emplace_back("since", age.empty() ? "not stated by the writer" : age);
  rows.emplace_back("lease", durationText(record.leaseDuration));
  if (!record.data.empty()) rows.emplace_back("data", dataText(record.data));
  for (const auto& [name, value] : record.attributes) rows.emplace_back("attribute " + shown(name), dataText(value));
  rows.emplace_back("store", shown(store));
  return table(rows);
}

std::string tokenTable(const LockToken& token, const TokenView& view) {
  std::vector<std::pair<std::string, std::string>> rows{
      {"lock", toString(token.key())},
      {"token", view.active ? "active" : "not active: " + std::string{wordOf(*view.why)}},
      {"owner", shown(token.owner())},
      {"fencing token", toString(token.fencingToken())},
      {"lease", durationText(token.lease())}};
  rows.emplace_back("remaining", view.remaining ? durationText(wholeMillis(*view.remaining))
                                                : "not known: the token is of another machine or another boot");
  if (!view.active && view.holder) rows.emplace_back("held by", shown(view.holder->holder, mostOfHolder));
  rows.emplace_back("store", shown(token.store()));
  return table(rows);
}

std::string listTable(const std::vector<LockWatch::Row>& rows, bool colours) {
  std::vector<LockCells> lines{{"STATE", "LOCK", "OWNER", "TOKEN", "LEASE", "ACQUIRED"}};
  for (const LockWatch::Row& row : rows) lines.push_back(lockCellsOf(row));
  const auto rowOf = [&rows](std::size_t line) { return line == 0 ? nullptr : &rows[line - 1]; };
  // A message widens no column: it runs on over those behind OWNER, which have nothing in its line.
  std::array<std::size_t, std::tuple_size_v<LockCells>> widths{};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool hasMessage = rowOf(i) != nullptr && rowOf(i)->record.has_error();
    const std::size_t measured = hasMessage ? columnsBeforeMessage : widths.size();
    for (std::size_t c = 0; c < measured; ++c) widths[c] = std::max(widths[c], lines[i][c].size());
  }
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      std::string padded = lines[i][c];
      if (c + 1 < widths.size()) padded.resize(std::max(padded.size(), widths[c]) + 2, ' ');
      // Coloured after it is padded: the bytes of a colour take no room on the screen.
      const bool isState = c == 0 && rowOf(i) != nullptr;
      line += isState ? coloured(padded, colourOf(rowOf(i)->state), colours) : padded;
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

}  // namespace tenure::cli
