// Any text as a kubeconfig file: options without faults, or faults that show no secret.
#include <string_view>

#include <tenure/config/load_group.hpp>

#include "fuzz_support.hpp"

namespace {

using tenure::fuzz::require;

constexpr std::string_view secret = "s3same";

/// A mutation may also have made a name of it, which a fault may quote.
bool isSecretAlone(std::string_view text) {
  for (std::size_t at = text.find(secret); at != std::string_view::npos; at = text.find(secret, at + 1)) {
    const std::string_view before = text.substr(0, at);
    if (!before.ends_with(" token: ") && !before.ends_with("{token: ") && !before.ends_with(" password: "))
      return false;
  }
  return true;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  const auto options = tenure::kubernetesOptionsFromText(text, "/nowhere/config");
  if (options.has_value()) {
    require(tenure::faultsOf(*options).empty(), "what is read is good");
    require(!options->server.empty() && !options->inNamespace.empty(), "server and namespace are known");
    return 0;
  }
  require(!options.error().empty(), "a file that is refused has a fault");
  const bool shown = toString(options.error()).find(secret) != std::string::npos;
  require(!shown || !isSecretAlone(text), "no secret is shown");
  return 0;
}
