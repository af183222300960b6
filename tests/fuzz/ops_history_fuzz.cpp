// Any bytes as the answer that `tenure history` reads, and as an address: understood, or refused in words.
#include <tenure/ops/http_listener.hpp>

#include "election/src/listen_address.hpp"
#include "fuzz_support.hpp"
#include "ops/src/client.hpp"

namespace {

using namespace tenure;
using tenure::fuzz::require;

void readsHistory(const std::string& text) {
  const auto groups = ops::parseHistory(text);
  if (!groups) return tenure::fuzz::requireTellable(groups.error().message);
  const auto again = ops::parseHistory(ops::historyJson(*groups));
  require(again.has_value() && again->size() == groups->size(), "what was read can be written and read again");
  for (std::size_t i = 0; i < groups->size(); ++i) {
    require((*again)[i].events == (*groups)[i].events, "with the same events");
  }
}

void readsAddress(const std::string& text) {
  const auto address = parseListen(text);
  require(address.has_value() == ops::faultOfListen(text).empty(), "the two agree");
  if (!address) return tenure::fuzz::requireTellable(address.error().message);
  require(parseListen(toString(*address)).has_value(), "an address as it is printed is an address");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  readsHistory(text);
  readsAddress(text);
  return 0;
}
