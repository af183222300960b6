#include <chrono>
#include <csignal>
#include <optional>
#include <poll.h>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include <tenure/lockcore/clock.hpp>
#include <tenure/ops/http_listener.hpp>

#include "cli/commands.hpp"
#include "cli/group/config_file.hpp"
#include "cli/process/signals.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "election/ops/src/client.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "watch_text.hpp"

namespace tenure::cli {
namespace {

struct HistoryArguments {
  std::string config{};  ///< whose http.listen is asked
  std::string http{};    ///< or this address
  bool json{false};
};

struct WatchArguments {
  std::string config{};  ///< whose http.listen is asked
  std::string http{};    ///< or this address
};

Colour colourOf(const TermEvent& event) {
  switch (event.kind) {
    case TermEvent::Kind::elected:
    case TermEvent::Kind::doubtEnded:
      return Colour::good;
    case TermEvent::Kind::revoked:
      return event.reason && wasWanted(*event.reason) ? Colour::none : Colour::bad;
    default:
      return Colour::warning;
  }
}

/// What the answer says is somebody else's word: it may be another program that answers, or one that lies.
constexpr std::size_t mostOfName = 250, mostOfDetail = 1'000;

std::string tableOf(const ops::GroupEvents& group, bool colours) {
  std::string out = shown(group.group, mostOfName) + '\n';
  if (group.events.empty()) out += "  nothing yet: this process was not elected since it started\n";
  for (const TermEvent& event : group.events) {
    out += fmt::format("  {}  {:>6}  {}{}\n", wallClockTextForDisplay(event.atMillis), toString(event.token),
                       coloured(wordsFor(event), colourOf(event), colours),
                       event.detail.empty() ? "" : ": " + shown(event.detail, mostOfDetail));
  }
  return out;
}

/// Of the listener; empty: that was complained about.
std::string addressFor(const std::string& http, const std::string& file) {
  if (!http.empty()) {
    const std::string fault = ops::faultOfListen(http);
    if (!fault.empty()) complain("--http: " + fault);
    return fault.empty() ? http : std::string{};
  }
  const auto config = loadOrComplain(file);
  if (config && config->httpListen.empty()) {
    complain(file + ": http.listen is not set, so there is no address to ask; give --http ADDRESS");
  }
  return config ? config->httpListen : std::string{};
}

/// One round: what was known stays if there is no answer, and grows old.
void ask(Watched& watched, Instant& askedAt) {
  const Instant now = readClock();
  const auto status = ops::askListener(watched.address, "/status", watchPatience);
  const auto electors = status ? ops::parseStatus(*status) : status.error();
  const auto events = electors ? ops::askListener(watched.address, "/history", watchPatience) : electors.error();
  const auto history = events ? ops::parseHistory(*events) : events.error();
  watched.fault = history ? std::string{} : history.error().message;
  if (!history) return;
  watched.electors = *electors;
  watched.history = *history;
  watched.age = std::chrono::milliseconds{0};
  askedAt = now;
}

int execute(const HistoryArguments& arguments) {
  const std::string address = addressFor(arguments.http, arguments.config);
  if (address.empty()) return exitUsage;
  const auto answer = ops::askListener(address, "/history", std::chrono::seconds{5});
  if (!answer) {
    complain(answer.error().message);
    return exitFailed;
  }
  const auto groups = ops::parseHistory(*answer);
  if (!groups) {
    complain(groups.error().message);
    return exitFailed;
  }
  if (arguments.json) return say(ops::historyJson(*groups)) ? exitOk : exitFailed;
  std::string out;
  for (const ops::GroupEvents& group : *groups) out += tableOf(group, stdoutHasColours());
  return say(out) ? exitOk : exitFailed;
}

int execute(const WatchArguments& arguments, const SignalState& signals) {
  constexpr const char* homeAndClear = "\033[H\033[2J";
  Watched watched{addressFor(arguments.http, arguments.config)};
  if (watched.address.empty()) return exitUsage;
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  Instant askedAt{};
  std::optional<SignalEvents> events;
  if (terminal) events.emplace(signals.heeded({SIGINT, SIGTERM, SIGHUP}));
  for (;;) {
    ask(watched, askedAt);
    if (!terminal && !watched.age) return complain(watched.fault), exitFailed;
    if (watched.age)
      watched.age = std::chrono::ceil<std::chrono::milliseconds>(elapsedForChallenger(askedAt, readClock()));
    bool stops = false;
    const auto asked = [&] { return stops = stops || (events && events->next()); };
    if (!say((terminal ? homeAndClear : "") + watchText(watched, stdoutHasColours()), asked)) {
      return stops ? exitOk : exitFailed;
    }
    if (!terminal) return exitOk;
    pollfd entry{events->descriptor(), POLLIN, 0};
    poll(&entry, 1, 500);
    if (asked()) return exitOk;
  }
}

template <class Arguments>
void declareCopy(Options& options, Arguments& to) {
  options
      .groupFile(to.config, true, {&to.http, "; or give --http ADDRESS"},
                 "the group's YAML file, whose http.listen is asked (or set TENURE_CONFIG)")
      .given("--http ADDRESS", to.http, "which copy to ask instead: 127.0.0.1:9200 or unix:/PATH")
      .check([&to]() -> std::string {
        return to.http.empty() || to.config.empty() ? "" : "give the address or the group's file, not both";
      });
}

}  // namespace

Command historyCommand() {
  const auto declare = [](Options& options, HistoryArguments& to) {
    declareCopy(options, to);
    options.flag("--json", to.json, "one JSON object on one line, with stable keys");
  };
  return {
      .name = "history",
      .summary = "show the last terms of a running copy",
      .about =
          R"(Asks a copy that runs with --http or http.listen. A copy keeps the last 128 events of its terms: elections,
revocations with their reasons, doubts, refusals by resources. The times are by its machine's wall clock.)",
      .exits = {{"0", "shown"}, {"1", "no copy answers at that address"}},
      .examples = {"tenure history --http 127.0.0.1:9200"},
      .options = optionsOf<HistoryArguments>(declare, execute),
  };
}

Command watchCommand() {
  return {
      .name = "watch",
      .summary = "show a running copy on the terminal, continuously",
      .about =
          R"(Asks a copy that runs with --http or http.listen twice a second: whether it leads, for how long its lease is valid
unless it is renewed, who leads, its last terms, and what is wrong. After two seconds without an answer it says that
nothing is known. It fills 80 columns until Ctrl-C. If stdout is not a terminal, it prints once.)",
      .exits = {{"0", "shown"}, {"1", "no copy answers at that address"}},
      .examples = {"tenure watch --http 127.0.0.1:9200"},
      .options =
          optionsOf<WatchArguments>([](Options& options, WatchArguments& to) { declareCopy(options, to); }, execute),
  };
}

}  // namespace tenure::cli
