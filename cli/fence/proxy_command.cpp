// `tenure fence proxy`: refuses requests of former terms in front of an HTTP service.
#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#ifdef TENURE_HAS_HTTP_FENCE
#include <tenure/adapters/http_fence.hpp>
#include <tenure/ops/http_listener.hpp>
#include <tenure/ops/metrics.hpp>

#include "adapters/gateway/proxy/proxy.hpp"
#endif

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "lockcore/runtime/output_writer.hpp"

namespace tenure::cli {
namespace {

struct FenceProxyArguments {
  std::string listen;    ///< ADDRESS:PORT
  std::string upstream;  ///< http://HOST:PORT
  std::vector<std::string> leases;
  std::string memory;      ///< SQLite file
  std::string keys{};      ///< file; empty: unsigned tokens
  std::string audience{};  ///< with keys: the service's name, as its clients sign it
  std::string withoutToken{"refuse-writes"};
  std::string staleStatus{"409"};
  std::size_t maxConnections{1'000};
  std::size_t signedBodyLimit{1U << 20U};
  std::chrono::milliseconds clientTimeout{10'000};
  std::chrono::milliseconds serviceTimeout{30'000};
  std::chrono::milliseconds drainTimeout{30'000};
  std::string logFormat{"text"};
  std::string http{};  ///< where metrics are shown; empty: nowhere
};

#ifdef TENURE_HAS_HTTP_FENCE
WithoutToken withoutTokenOf(const std::string& word) {
  if (word == "refuse") return WithoutToken::refuse;
  return word == "pass" ? WithoutToken::pass : WithoutToken::refuseWrites;
}

HttpFenceOptions optionsOf(const FenceProxyArguments& arguments) {
  HttpFenceOptions options;
  options.leases = arguments.leases;
  options.memory = arguments.memory;
  options.withoutToken = withoutTokenOf(arguments.withoutToken);
  options.audience = arguments.audience;
  options.staleStatus = std::stoi(arguments.staleStatus);
  options.afterCrash = arguments.drainTimeout;
  return options;
}

LogFormat logFormatOf(const std::string& word) {
  if (word == "json") return LogFormat::json;
  return word == "logfmt" ? LogFormat::logfmt : LogFormat::text;
}

std::vector<ops::MetricFamily> familiesOf(const gateway::ProxyCounts& counts) {
  ops::MetricFamily requests = ops::familyOf("tenure_proxy_requests");
  for (const auto& [outcome, count] : counts.byOutcome()) {
    requests.samples.push_back({"_total", {{"outcome", outcome}}, static_cast<double>(count)});
  }
  return {std::move(requests)};
}

int serve(const gateway::Settings& settings, const HttpFenceOptions& options, const FenceProxyArguments& arguments,
          const SignalState& signals) {
  const Logger logger = Logger::toStderr(LogLevel::info, logFormatOf(arguments.logFormat));
  auto fence = HttpFence::open(options, logger);
  if (!fence) return complain(fence.error().message), exitFailed;
  gateway::ProxyCounts counts;  // outlives what shows it
  std::optional<ops::HttpListener> http;
  if (!arguments.http.empty()) {
    auto listener = ops::HttpListener::start({.listen = arguments.http, .logger = logger});
    if (!listener) return complain("--http: " + listener.error().front().message), (*fence)->close(), exitFailed;
    listener->watch([&counts] { return familiesOf(counts); });
    http = std::move(*listener);
  }
  SignalEvents events{signals.heeded({SIGTERM, SIGINT, SIGHUP})};
  const gateway::StopSignals stops{events.descriptor(), [&events] { return events.next().has_value(); }};
  const auto ended = gateway::runProxy(settings, **fence, logger, counts, stops, [&](const std::string& address) {
    stdoutWriter().post("listening on " + address + ", forwarding to " + arguments.upstream + '\n');
  });
  if (ended == gateway::ProxyEnd::clean) return exitOk;
  if (ended == gateway::ProxyEnd::cannotListen) (*fence)->close();  // no request has passed
  if (ended == gateway::ProxyEnd::cutOff) complain("requests that were under way have been cut off");
  return exitFailed;
}

int execute(const FenceProxyArguments& arguments, const SignalState& signals) {
  gateway::Settings settings;
  const auto listen = gateway::addressOf(arguments.listen);
  if (!listen || !gateway::isAddress(listen->host)) {
    return refuse(
        "--listen takes an address of this machine and a port, such as 127.0.0.1:8080, not \"" + arguments.listen + '"',
        "fence proxy");
  }
  const auto upstream = gateway::upstreamOf(arguments.upstream);
  if (!upstream) return refuse("--upstream takes http://HOST:PORT, not \"" + arguments.upstream + '"', "fence proxy");
  settings.listen = *listen;
  settings.upstream = *upstream;
  settings.limits.connections = arguments.maxConnections;
  settings.limits.signedBodyBytes = arguments.signedBodyLimit;
  settings.limits.client = arguments.clientTimeout;
  settings.limits.service = arguments.serviceTimeout;
  settings.limits.drain = arguments.drainTimeout;
  HttpFenceOptions options = optionsOf(arguments);
  if (!arguments.keys.empty()) {
    auto keys = gateway::readKeys(arguments.keys);
    if (!keys) return refuse(keys.error().message, "fence proxy");
    options.keys = *std::move(keys);
    settings.readsBodies = true;
  }
  if (const auto faults = faultsOf(options); !faults.empty()) return refuse(faults.front(), "fence proxy");
  if (!arguments.http.empty()) {
    if (const auto fault = ops::faultOfListen(arguments.http); !fault.empty())
      return refuse("--http: " + fault, "fence proxy");
  }
  return serve(settings, options, arguments, signals);
}
#else
int execute(const FenceProxyArguments& /*arguments*/, const SignalState& /*signals*/) {
  complain("this tenure was built without the fence for HTTP services (TENURE_WITH_HTTP_FENCE=OFF)");
  return exitUsage;
}
#endif

void declareTimes(Options& options, FenceProxyArguments& to) {
  options
      .duration("--client-timeout TIME", to.clientTimeout, "for a header, and between pieces of a body (default 10s)")
      .duration("--service-timeout TIME", to.serviceTimeout, "for the service to send something (default 30s)")
      .duration(
          "--drain-timeout TIME", to.drainTimeout,
          "for requests under way when a later term waits, when the proxy stops, and after it was killed (default "
          "30s)");
}

void declareProxy(Options& options, FenceProxyArguments& to) {
  options.text("--listen ADDRESS:PORT", to.listen, "where clients connect; port 0: any free one")
      .required()
      .text("--upstream URL", to.upstream, "the service, http://HOST:PORT")
      .required()
      .values(
          "--lease NAME", [&to](const std::string& text) { return to.leases.push_back(text), std::string{}; },
          "whose tokens count; may be given several times")
      .required()
      .path("--memory FILE", to.memory, "SQLite file for the highest tokens")
      .required()
      .path("--keys FILE", to.keys,
            "take signed tokens only; lines of ID SECRET (base64, 32 bytes or more). To change a key, list both.")
      .text("--audience NAME", to.audience,
            "with --keys: this service's name, which its clients sign; a request signed for another is refused")
      .oneOf("--without-token WHAT", to.withoutToken, {"refuse-writes", "refuse", "pass"},
             "requests without the header: refuse-writes (default; GET, HEAD and OPTIONS without a body pass), refuse, "
             "or pass")
      .oneOf("--stale-status STATUS", to.staleStatus, {"409", "412"}, "409 (default) or 412")
      .number(
          "--max-connections N", to.maxConnections, 1, 100'000,
          "the most clients (default 1000); at most half may be of one address. If there is no room, the client that "
          "is silent longest is cut off; if none is silent, the new one gets 503.")
      .number("--signed-body-limit N", to.signedBodyLimit, 1, 1U << 30U,
              "with --keys: most bytes of a body (default 1048576)");
  declareTimes(options, to);
  options.oneOf("--log-format FORMAT", to.logFormat, {"text", "logfmt", "json"}, "text (default), logfmt or json")
      .given("--http ADDRESS", to.http, "show /metrics there: 127.0.0.1:9200 or unix:/PATH")
      .check([&to]() -> std::string {
        if (to.keys.empty() == to.audience.empty()) return {};
        return to.keys.empty() ? "--audience requires --keys" : "--keys requires --audience";
      });
}

}  // namespace

Command fenceProxyCommand() {
  return {
      .name = "fence proxy",
      .summary = "refuse requests of former terms before a service sees them",
      .about = R"(Forwards requests to the service at --upstream. A request carries the token of its term in a header:
  Fencing-Token: NAME=42;holder="..."
The highest token is kept in FILE; a request with a lower one is refused with 409. A request of a later term waits until
those of the term before have ended.)",
      .more = "Signals: SIGTERM, SIGINT and SIGHUP let the requests under way end; a second one cuts them off.",
      .exits = {{"0", "stopped by a signal"},
                {"1", "failed, or requests were cut off when it stopped"},
                {"2", "wrong arguments"}},
      .examples = {R"(tenure fence proxy --listen 0.0.0.0:8080 --upstream http://127.0.0.1:9000 \)",
                   "    --lease billing --memory /var/lib/tenure/billing-fence.db"},
      .options = optionsOf<FenceProxyArguments>(declareProxy, execute),
      .holds = true,
  };
}

}  // namespace tenure::cli
