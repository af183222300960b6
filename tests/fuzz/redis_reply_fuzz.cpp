// Any bytes as a Redis's answer to a fence's script, and to its read of a token.
#include <memory>

#include "adapters/redis/src/answers.hpp"
#include "fuzz_support.hpp"

namespace {

using namespace tenure;
using namespace tenure::redis_fence;
using tenure::fuzz::require;

const TermStamp stamp{"billing", FencingToken{5}, "a#1"};
const Asked asked{"redis there", "redis there, key k", "mark:1", 2};

bool isText(const redisReply& reply, std::size_t index, std::string_view text) {
  if (reply.type != REDIS_REPLY_ARRAY || index >= reply.elements) return false;
  const redisReply& one = *reply.element[index];
  return (one.type == REDIS_REPLY_STRING || one.type == REDIS_REPLY_STATUS) &&
         std::string_view{one.str, one.len} == text;
}

void judgeWrite(const redisReply& reply) {
  const auto judged = judge(asked, stamp, reply);
  if (judged) {
    require(isText(reply, 0, "done") && isText(reply, 1, asked.mark) && reply.elements == 2 + asked.commands,
            "done is said by the script, of this call, with an answer for each command");
    return;
  }
  const FenceError error = judged.error();
  tenure::fuzz::requireTellable(error.message);
  const bool mine = isText(reply, 1, asked.mark);
  require(mine || (error.stale() == nullptr && error.foreign() == nullptr), "a term ends by this call's answer only");
  if (const auto* stale = error.stale()) {
    require(stale->highestSeen > stamp.token && stale->highestSeen <= maxFencingToken, "a token is one");
  }
  const auto* failure = error.writeError();
  require(failure == nullptr || failure->mayBeWritten || mine || reply.type == REDIS_REPLY_ERROR,
          "what is not understood proves nothing");
}

void judgeLook(const redisReply& reply) {
  const auto seen = seenIn(asked, stamp.lease, reply);
  if (!seen) return tenure::fuzz::requireTellable(FenceError{seen.error()}.message);
  require(reply.type == REDIS_REPLY_ARRAY && reply.elements == 2, "a look has two answers");
  require(*seen || reply.element[0]->type == REDIS_REPLY_NIL, "no token is nil");
  require(!*seen || (!(*seen)->token.isNone() && (*seen)->token <= maxFencingToken), "a token is one");
}

struct FreeReader {
  void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::unique_ptr<redisReader, FreeReader> reader{redisReaderCreate()};
  if (redisReaderFeed(reader.get(), reinterpret_cast<const char*>(data), size) != REDIS_OK) return 0;
  void* raw = nullptr;
  if (redisReaderGetReply(reader.get(), &raw) != REDIS_OK || raw == nullptr) return 0;
  const Reply reply{static_cast<redisReply*>(raw)};
  judgeWrite(*reply);
  judgeLook(*reply);
  return 0;
}
