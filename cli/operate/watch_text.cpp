#include "watch_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <tenure/lockcore/clock.hpp>

#include "cli/text/output.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::cli {
namespace {

using ops::ElectorSummary;
using std::chrono::milliseconds;

constexpr std::size_t columns = 80, barColumns = 40, wordColumns = 20, newestEvents = 8;

/// What somebody else wrote, cut to what fits beside `used` columns. Characters beyond ASCII count for more than they
/// take, and what is escaped for as much as it takes.
std::string fitting(std::string_view text, std::size_t used) {
  const std::size_t room = columns - std::min(used, columns);
  std::string out = shown(text, room);
  for (std::size_t most = room; out.size() > room && most > 0;) out = shown(text, --most);
  return out;
}

std::string secondsText(milliseconds time) { return fmt::format("{:.1f} s", static_cast<double>(time.count()) / 1e3); }

struct Verdict {
  std::string word;
  Colour colour;
  std::string why{};
};

Verdict verdictOn(const ElectorSummary& elector, milliseconds age) {
  if (age > watchPatience) {
    return {"NO ANSWER", Colour::bad, "for " + secondsText(age) + "; whether it leads is not known"};
  }
  if (elector.leads && elector.remaining > age) {
    if (elector.inDoubt) return {"IN DOUBT", Colour::warning, elector.error};
    return {"LEADS", Colour::good};
  }
  if (!elector.error.empty()) return {"STORE FAILS", Colour::bad, elector.error};
  if (elector.unready) return {"NOT READY", Colour::warning, "it does not compete until it is ready"};
  if (!elector.leader.empty() && !elector.leaderIsSelf) {
    return {elector.observes ? "OBSERVES" : "STANDS BY", Colour::none,
            elector.leader + " leads, token " + toString(elector.leaderToken)};
  }
  return {fitting(elector.state, columns - wordColumns), Colour::none, "no leader is known"};
}

std::string barOf(const ElectorSummary& elector, milliseconds left, Colour colour, bool colours) {
  const auto whole = static_cast<double>(std::max<std::int64_t>(elector.leaseDuration.count(), 1));
  const double share = std::clamp(static_cast<double>(left.count()) / whole, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(barColumns));
  return "  [" + coloured(std::string(full, '#'), colour, colours) + std::string(barColumns - full, '.') + "] " +
         secondsText(left) + " of " + secondsText(elector.leaseDuration) + '\n';
}

std::string textOf(const ElectorSummary& elector, milliseconds age, bool colours) {
  const Verdict verdict = verdictOn(elector, age);
  const std::string group = fitting(elector.group, verdict.word.size() + 2);
  std::string out = group + "  " + coloured(verdict.word, verdict.colour, colours) + '\n';
  if (!verdict.why.empty()) out += "  " + fitting(verdict.why, 2) + '\n';
  if (age > watchPatience) return out;  // what it said before may be true no more
  if (elector.leads && elector.remaining > age) {
    out += barOf(elector, elector.remaining - age, verdict.colour, colours);
    out += "  token " + toString(elector.token) + '\n';
  }
  out += "  " +
         fitting(fmt::format("{} terms, {} doubts, {} refusals; {}", elector.terms, elector.doubts, elector.refusals,
                             elector.candidate),
                 2) +
         '\n';
  return out + "  " + fitting(elector.store, 2) + '\n';
}

std::string newestOf(const std::vector<TermEvent>& events) {
  std::string out;
  const std::size_t count = std::min(events.size(), newestEvents);
  for (std::size_t i = 0; i < count; ++i) {
    const TermEvent& event = events[events.size() - 1 - i];
    const std::string line = wallClockTextForDisplay(event.atMillis) + "  " + toString(event.token) + "  " +
                             wordsFor(event) + (event.detail.empty() ? "" : ": " + event.detail);
    out += "    " + fitting(line, 4) + '\n';
  }
  return out;
}

}  // namespace

std::string wordsFor(const TermEvent& event) {
  switch (event.kind) {
    case TermEvent::Kind::elected:
      return "elected";
    case TermEvent::Kind::revoked:
      return fmt::format("revoked ({})", event.reason ? toString(*event.reason) : "no reason given");
    case TermEvent::Kind::doubtBegan:
      return "in doubt";
    case TermEvent::Kind::doubtEnded:
      return "no longer in doubt";
    case TermEvent::Kind::refused:
      return "refused by a resource";
  }
  return "unknown";
}

std::string watchText(const Watched& watched, bool colours) {
  std::string out = fitting("tenure at " + watched.address, 0) + '\n';
  if (!watched.fault.empty()) out += coloured(fitting(watched.fault, 0), Colour::bad, colours) + '\n';
  if (!watched.age) return out;
  for (const ElectorSummary& elector : watched.electors) {
    out += '\n' + textOf(elector, *watched.age, colours);
    for (const ops::GroupEvents& group : watched.history) {
      if (group.group == elector.group) out += newestOf(group.events);
    }
  }
  return out;
}

}  // namespace tenure::cli
