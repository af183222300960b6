#include <string>
#include <vector>

#include <fmt/format.h>

#include <tenure/lockcore/clock.hpp>
#include <tenure/ops/client.hpp>
#include <tenure/ops/http_listener.hpp>

#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "commands.hpp"
#include "config_file.hpp"

namespace tenure::cli {
namespace {

Colour colourOf(const TermEvent& event) {
  switch (event.kind) {
    case TermEvent::Kind::elected:
    case TermEvent::Kind::doubtEnded:
      return Colour::good;
    case TermEvent::Kind::revoked: {
      const bool asked = event.reason == RevokeReason::stopped || event.reason == RevokeReason::steppedDown;
      return asked ? Colour::none : Colour::bad;
    }
    default:
      return Colour::warning;
  }
}

/// `revoked (expired)`
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

std::string tableOf(const ops::GroupEvents& group, bool colours) {
  std::string out = group.group + '\n';
  if (group.events.empty()) out += "  nothing yet: this process was not elected since it started\n";
  for (const TermEvent& event : group.events) {
    out += fmt::format("  {}  {:>6}  {}{}\n", wallClockTextForDisplay(event.atMillis), toString(event.token),
                       coloured(wordsFor(event), colourOf(event), colours),
                       event.detail.empty() ? "" : ": " + event.detail);
  }
  return out;
}

}  // namespace

int historyCommand(const HistoryArguments& arguments) {
  std::string address = arguments.http;
  if (address.empty()) {
    const auto config = loadOrComplain(arguments.config);
    if (!config) return exitUsage;
    address = config->httpListen;
    if (address.empty()) {
      complain(arguments.config + ": http.listen is not set, so nothing says whom to ask; give --http ADDRESS");
      return exitUsage;
    }
  } else if (const std::string fault = ops::faultOfListen(address); !fault.empty()) {
    complain("--http: " + fault);
    return exitUsage;
  }
  const auto answer = ops::askListener(address, "/history", std::chrono::seconds{5});
  if (!answer) {
    complain(answer.error().message);
    return exitFailed;
  }
  if (arguments.json) return say(*answer) ? exitOk : exitFailed;
  const auto groups = ops::parseHistory(*answer);
  if (!groups) {
    complain(groups.error().message);
    return exitFailed;
  }
  std::string out;
  for (const ops::GroupEvents& group : *groups) out += tableOf(group, stdoutHasColours());
  return say(out) ? exitOk : exitFailed;
}

}  // namespace tenure::cli
