// Any bytes as the data of a leader's record: a statement is one that a leader may make, and counts for one term; data
// of others stay.
#include <cstdint>
#include <string>

#include <boost/json.hpp>

#include "election/src/leader_document.hpp"
#include "fuzz_support.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tenure::FencingToken;
  using tenure::LeaderStatement;
  using tenure::fuzz::require;
  const std::string text(data, data + size);
  const LeaderStatement first = tenure::statementIn(text, FencingToken{1});
  const LeaderStatement second = tenure::statementIn(text, FencingToken{2});
  require(first.address.empty() || tenure::isLeaderAddress(first.address), "what is shown is an address");
  require(first.priority <= tenure::maxPriority, "what is shown is a priority");
  require(first == LeaderStatement{} || second == LeaderStatement{}, "a statement counts for one term");
  const LeaderStatement mine{"10.0.0.5:8080", 7};
  const auto members = tenure::membersOfDocument(text);
  require(!members || text.empty() || boost::json::serialize(*members) == text, "what is ours is spelled as we write");
  const auto written = tenure::withStatement(text, FencingToken{2}, mine);
  if (!written) return 0;
  require(tenure::statementIn(*written, FencingToken{2}) == mine, "what was written is read");
  require(tenure::statementIn(*written, FencingToken{1}) == LeaderStatement{}, "the statement before is gone");
  require(tenure::withStatement(*written, FencingToken{2}, mine) == written, "the rest stays as it is");
  const auto bare = tenure::withStatement(*written, FencingToken{3}, {});
  require(bare && tenure::statementIn(*bare, FencingToken{3}) == LeaderStatement{}, "nothing is inherited");
  return 0;
}
