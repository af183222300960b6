#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/adapters/http_fence.hpp>

#include "cli/exit_codes.hpp"
#include "cli/fence_proxy/key_file.hpp"
#include "cli/fence_proxy/listener.hpp"
#include "cli/fence_proxy/proxy.hpp"
#include "cli/output.hpp"
#include "commands.hpp"

namespace tenure::cli {
namespace {

using fence_proxy::Address;

/// HOST:PORT, or [V6]:PORT.
std::optional<Address> addressOf(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  Address out{std::string{host}, 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return out;
}

std::optional<Address> upstreamOf(std::string_view text) {
  constexpr std::string_view scheme = "http://";
  if (!text.starts_with(scheme)) return std::nullopt;
  text.remove_prefix(scheme.size());
  if (text.ends_with('/')) text.remove_suffix(1);
  auto out = addressOf(text);
  const bool good = out && out->port != 0 && out->host.find_first_of(" @/?#\t") == std::string::npos;
  return good ? out : std::nullopt;
}

WithoutToken withoutTokenOf(const std::string& word) {
  if (word == "refuse") return WithoutToken::refuse;
  return word == "pass" ? WithoutToken::pass : WithoutToken::refuseWrites;
}

int usage(const std::string& message) {
  complain(message);
  complain("see: tenure fence proxy --help");
  return exitUsage;
}

HttpFenceOptions optionsOf(const FenceProxyArguments& arguments) {
  HttpFenceOptions options;
  options.leases = arguments.leases;
  options.memory = arguments.memory;
  options.withoutToken = withoutTokenOf(arguments.withoutToken);
  options.audience = arguments.audience;
  options.staleStatus = arguments.staleStatus;
  options.afterCrash = arguments.drainTimeout;
  return options;
}

int serve(const fence_proxy::Settings& settings, const HttpFenceOptions& options, const std::string& upstream) {
  const Logger logger = Logger::toStderr();
  auto fence = HttpFence::open(options, logger);
  if (!fence) return complain(fence.error().message), exitFailed;
  const auto ended = fence_proxy::runProxy(settings, **fence, logger, [&](const std::string& address) {
    (void)say("listening on " + address + ", forwarding to " + upstream + '\n');
  });
  if (ended == fence_proxy::ProxyEnd::clean) return exitOk;
  if (ended == fence_proxy::ProxyEnd::cannotListen) (*fence)->close();  // no request has passed
  if (ended == fence_proxy::ProxyEnd::cutOff) complain("requests that were under way have been cut off");
  return exitFailed;
}

}  // namespace

int fenceProxyCommand(const FenceProxyArguments& arguments) {
  fence_proxy::Settings settings;
  const auto listen = addressOf(arguments.listen);
  if (!listen || !fence_proxy::isAddress(listen->host)) {
    return usage("--listen takes an address of this machine and a port, such as 127.0.0.1:8080, not \"" +
                 arguments.listen + '"');
  }
  const auto upstream = upstreamOf(arguments.upstream);
  if (!upstream) return usage("--upstream takes http://HOST:PORT, not \"" + arguments.upstream + '"');
  settings.listen = *listen;
  settings.upstream = *upstream;
  settings.limits.connections = arguments.maxConnections;
  settings.limits.signedBodyBytes = arguments.signedBodyLimit;
  settings.limits.client = arguments.clientTimeout;
  settings.limits.service = arguments.serviceTimeout;
  settings.limits.drain = arguments.drainTimeout;
  HttpFenceOptions options = optionsOf(arguments);
  if (!arguments.keys.empty()) {
    auto keys = fence_proxy::readKeys(arguments.keys);
    if (!keys) return usage(keys.error().message);
    options.keys = *std::move(keys);
    settings.readsBodies = true;
  }
  if (const auto faults = faultsOf(options); !faults.empty()) return usage(faults.front());
  return serve(settings, options, arguments.upstream);
}

}  // namespace tenure::cli
