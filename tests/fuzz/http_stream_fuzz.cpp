// Any bytes as a streamed reply: in pieces they give the same lines as at once, and no more than a line is kept.
#include <vector>

#include "fuzz_support.hpp"
#include "lockcore/net/line_splitter.hpp"
#include "lockcore/net/reply_reader.hpp"

namespace {

using tenure::fuzz::require;
using tenure::net::LineSplitter;
using tenure::net::ReplyReader;

constexpr std::size_t mostBytes = 1U << 20U;  // more than an input has: where a bound lies depends on the pieces
constexpr std::size_t longestLine = 64;

struct Result {
  ReplyReader::State state{ReplyReader::State::more};
  bool tooLong{false};
  bool streams{false};
  std::vector<std::string> lines{};
  std::string rest{};
};

void take(ReplyReader& reader, LineSplitter& splitter, Result& result) {
  if (!reader.streams()) return;
  result.streams = true;
  const auto state = splitter.feed(reader.takePart(), [&](std::string_view line) {
    require(!line.empty() && line.size() <= longestLine, "a line is not empty and not too long");
    require(line.find('\n') == std::string_view::npos, "and has no end in it");
    result.lines.emplace_back(line);
    return true;
  });
  result.tooLong = state == LineSplitter::State::tooLong;
  require(splitter.rest().size() <= longestLine, "no more than a line is kept");
}

Result read(std::string_view bytes, std::size_t piece) {
  ReplyReader reader;
  LineSplitter splitter{longestLine};
  reader.expectStream(mostBytes);
  Result result;
  while (!bytes.empty() && result.state == ReplyReader::State::more && !result.tooLong) {
    const std::string_view now = bytes.substr(0, piece);
    bytes.remove_prefix(now.size());
    result.state = reader.feed(now);
    take(reader, splitter, result);
  }
  if (result.tooLong) return result;
  if (result.state == ReplyReader::State::more) result.state = reader.end();
  if (result.state == ReplyReader::State::failed) tenure::fuzz::requireTellable(reader.why());
  result.rest = splitter.rest();
  if (result.state != ReplyReader::State::done) return result;
  const auto response = reader.take();
  require(!result.streams || response.body.empty(), "what was streamed is not given again");
  require(result.streams == (response.status / 100 == 2), "only an accepted reply is streamed");
  return result;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tenure::fuzz::Choices choices{data, size};
  const std::size_t piece = 1U + choices.next();
  const Result atOnce = read(choices.rest(), size + 1);
  const Result inPieces = read(choices.rest(), piece);
  require(atOnce.lines == inPieces.lines, "pieces do not change the lines");
  require(atOnce.tooLong == inPieces.tooLong, "nor whether one is too long");
  if (!atOnce.tooLong) require(atOnce.state == inPieces.state && atOnce.rest == inPieces.rest, "nor the end");
  return 0;
}
