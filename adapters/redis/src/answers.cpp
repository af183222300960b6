#include "answers.hpp"

#include "adapters/fence/src/fence_text.hpp"

namespace tenure::redis_fence {
namespace {

constexpr std::size_t headOfAnAnswer = 2;  // the word and the mark

FenceError notUnderstood(const Asked& asked, bool mayBeWritten) {
  return fenceTrouble({ErrorClass::transient,
                       asked.server + ": the answer is none that was asked for; something between here and the server "
                                      "makes up answers, or a command was sent on the connection whose answer nobody "
                                      "has read. Connect again and open another fence"},
                      mayBeWritten);
}

bool isListOf(const redisReply& reply, std::size_t elements) {
  return reply.type == REDIS_REPLY_ARRAY && reply.elements == elements;
}

RedisReplies repliesIn(const redisReply& reply) {
  RedisReplies replies;
  for (std::size_t i = headOfAnAnswer; i < reply.elements; ++i) replies.push_back(elementOf(reply, i));
  return replies;
}

/// `stale` and `foreign` must agree with the rule: the server's word alone does not end a term.
std::optional<FenceError> refusalIn(const TermStamp& stamp, const redisReply& reply) {
  const auto token = parseFencingToken(elementOf(reply, 2).value_or(""));
  if (!token) return std::nullopt;
  return fenceRefusal(stamp, TermStamp{stamp.lease, *token, elementOf(reply, 3).value_or("")});
}

}  // namespace

FenceResult<RedisReplies> judge(const Asked& asked, const TermStamp& stamp, const redisReply& reply) {
  // An error of the script as a whole comes from its first write or before, so nothing was written.
  if (reply.type == REDIS_REPLY_ERROR) return troubleOf(asked.server, textOf(reply), false);
  if (elementOf(reply, 1) != asked.mark) return notUnderstood(asked, true);
  const std::string word = elementOf(reply, 0).value_or("");
  if (word == "done" && isListOf(reply, headOfAnAnswer + asked.commands)) return repliesIn(reply);
  const std::string first = elementOf(reply, 2).value_or("");
  if (word == "failed" && isListOf(reply, 4)) {
    return troubleOf(asked.server + ": command " + first + " of a fenced write", elementOf(reply, 3).value_or(""),
                     first != "1");
  }
  if (word == "damaged" && isListOf(reply, 3)) return damagedFence(asked.key, stamp.lease, first);
  if ((word == "stale" || word == "foreign") && isListOf(reply, 4)) {
    if (auto refusal = refusalIn(stamp, reply)) return *std::move(refusal);
  }
  return notUnderstood(asked, true);
}

FenceResult<std::optional<TermStamp>> seenIn(const Asked& asked, const std::string& lease, const redisReply& reply) {
  if (reply.type == REDIS_REPLY_ERROR) return troubleOf(asked.server, textOf(reply), false);
  if (!isListOf(reply, 2)) return notUnderstood(asked, false);
  const auto text = elementOf(reply, 0);
  if (!text && reply.element[0]->type == REDIS_REPLY_NIL) return std::optional<TermStamp>{};
  const auto token = parseFencingToken(text.value_or(""));
  if (!token) return damagedFence(asked.key, lease, text.value_or(""));
  return std::optional{TermStamp{lease, *token, elementOf(reply, 1).value_or("")}};
}

}  // namespace tenure::redis_fence
