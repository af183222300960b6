// Any bytes as the data of a leader's record: an address is printable and counts for one term; data of others stay.
#include <cstdint>
#include <string>

#include "election/src/leader_document.hpp"
#include "fuzz_support.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tenure::FencingToken;
  using tenure::fuzz::require;
  const std::string text(data, data + size);
  const std::string first = tenure::addressIn(text, FencingToken{1});
  const std::string second = tenure::addressIn(text, FencingToken{2});
  require(first.empty() || tenure::isLeaderAddress(first), "what is shown is an address");
  require(first.empty() || second.empty(), "an address counts for one term");
  const auto written = tenure::withAddress(text, FencingToken{2}, "10.0.0.5:8080");
  if (!written) return 0;
  require(tenure::addressIn(*written, FencingToken{2}) == "10.0.0.5:8080", "what was written is read");
  require(tenure::addressIn(*written, FencingToken{1}).empty(), "the address before is gone");
  require(tenure::withAddress(*written, FencingToken{2}, "10.0.0.5:8080") == written, "the rest stays as it is");
  return 0;
}
