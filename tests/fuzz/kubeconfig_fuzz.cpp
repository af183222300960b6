// Any text as a kubeconfig file: options without faults, or faults that show no secret.
#include <tenure/config/kubeconfig.hpp>

#include "fuzz_support.hpp"

namespace {

using tenure::fuzz::require;

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
  require(toString(options.error()).find("s3same") == std::string::npos, "no secret is shown");
  return 0;
}
