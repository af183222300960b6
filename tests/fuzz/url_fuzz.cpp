// Any bytes as a URL, a proxy and rules for hosts without one: understood, or refused in words that quote no password.
#include <vector>

#include "fuzz_support.hpp"
#include "lockcore/net/http_client.hpp"
#include "lockcore/net/proxy.hpp"

namespace {

using namespace tenure::net;
using tenure::fuzz::require;

void readsUrl(std::string_view text) {
  const auto url = parseUrl(text);
  if (!url) return tenure::fuzz::requireTellable(url.error().message);
  require(!url->origin.host.empty() && url->origin.port != 0, "a URL names a host and a port");
  require(!url->target.empty() && url->target.front() == '/', "a target begins with a slash");
  require(url->target.find_first_of("\r\n ") == std::string::npos, "a target breaks no request line");
  const auto again = parseUrl(toString(url->origin) + url->target);
  require(again.has_value() && *again == *url, "a URL as it is printed is the same URL");
}

void readsProxy(std::string_view text) {
  const auto proxy = parseProxy(text);
  if (!proxy) return tenure::fuzz::requireTellable(proxy.error().message);
  require(!proxy->host.empty() && proxy->port != 0, "a proxy names a host and a port");
  require(proxy->authorization.find_first_of("\r\n") == std::string::npos, "a password breaks no header");
  require(toString(*proxy).find('@') == std::string::npos, "a proxy is printed without its password");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  readsUrl(text);
  readsProxy(text);
  const std::size_t cut = text.find('\n');
  const std::string_view host = text.substr(0, cut);
  const std::string rules{cut == std::string_view::npos ? std::string_view{} : text.substr(cut + 1)};
  const NoProxy none{rules};
  (void)none.covers(std::string{host}, 443);
  (void)isBypassedByBotocore(rules, {true, std::string{host}, 443});
  require(NoProxy{"*"}.covers(std::string{host}, 443), "a star covers every host");
  return 0;
}
