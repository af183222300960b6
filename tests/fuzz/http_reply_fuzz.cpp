// Any bytes as an HTTP reply: read in pieces they mean the same as read at once, and never more is read than is
// allowed.
#include <algorithm>

#include "fuzz_support.hpp"
#include "lockcore/net/reply_reader.hpp"

namespace {

using tenure::fuzz::require;
using tenure::net::ReplyReader;

constexpr std::size_t mostBytes = 4096;

struct Result {
  ReplyReader::State state{ReplyReader::State::more};
  int status{0};
  std::string body;
};

Result read(ReplyReader& reader, std::string_view bytes, std::size_t piece, bool hasNoBody) {
  reader.expect(hasNoBody, mostBytes);
  Result result;
  while (!bytes.empty() && result.state == ReplyReader::State::more) {
    const std::string_view now = bytes.substr(0, piece);
    bytes.remove_prefix(now.size());
    result.state = reader.feed(now);
  }
  if (result.state == ReplyReader::State::more) result.state = reader.end();
  if (result.state == ReplyReader::State::failed) tenure::fuzz::requireTellable(reader.why());
  if (result.state != ReplyReader::State::done) return result;
  tenure::net::HttpResponse response = reader.take();
  result.status = response.status;
  result.body = std::move(response.body);
  require(result.status >= 200 && result.status <= 999, "an interim reply is no answer");
  require(result.body.size() <= mostBytes, "a reply is not longer than allowed");
  require(!hasNoBody || result.body.empty(), "a reply to HEAD has no body");
  return result;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tenure::fuzz::Choices choices{data, size};
  const bool hasNoBody = choices.next() % 8 == 0;
  const std::size_t piece = 1U + choices.next();
  ReplyReader whole;
  const Result atOnce = read(whole, choices.rest(), std::max<std::size_t>(size, 1), hasNoBody);
  ReplyReader inPieces;
  const Result pieceByPiece = read(inPieces, choices.rest(), piece, hasNoBody);
  require(atOnce.state == pieceByPiece.state, "pieces do not change what a reply is");
  require(atOnce.status == pieceByPiece.status && atOnce.body == pieceByPiece.body, "nor what it says");
  return 0;
}
