#include "answers.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "adapters/fence/src/fence_text.hpp"

namespace tenure::redis_fence {
namespace {

struct Rule {
  std::string_view begin;  ///< of the error's text
  ErrorClass errorClass;
  std::string_view advice;
};

/// The first that fits counts. Errors that are not here (a wrong type, an unknown command) are mistakes of the program.
constexpr std::array rules{
    Rule{"LOADING", ErrorClass::transient, ""},
    Rule{"BUSY", ErrorClass::transient, ""},
    Rule{"TRYAGAIN", ErrorClass::transient, ""},
    Rule{"CLUSTERDOWN", ErrorClass::transient, ""},
    Rule{"MASTERDOWN", ErrorClass::transient, ""},
    Rule{"OOM", ErrorClass::throttled, "; the server has no memory left for writes"},
    Rule{"MISCONF", ErrorClass::transient, "; the server cannot write to its disk"},
    Rule{"NOREPLICAS", ErrorClass::transient, ""},
    Rule{"READONLY", ErrorClass::misconfigured, "; that is a replica: connect to the primary"},
    Rule{"MOVED", ErrorClass::misconfigured, "; connect to the node that has the slot"},
    Rule{"ASK", ErrorClass::transient, ""},
    Rule{"CROSSSLOT", ErrorClass::misconfigured,
         "; on a cluster all keys of a write and the token share a hash tag: RedisFenceOptions::hashTag"},
    Rule{"NOAUTH", ErrorClass::credentials, ""},
    Rule{"NOPERM", ErrorClass::credentials,
         "; the user needs EVAL, EVALSHA, SCRIPT, HMGET, HSET, for waitReplicas WAIT, and "
         "the commands"},
    Rule{"WRONGPASS", ErrorClass::credentials, ""},
};

}  // namespace

Reply call(redisContext* connection, const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  return Reply{static_cast<redisReply*>(
      redisCommandArgv(connection, static_cast<int>(words.size()), texts.data(), lengths.data()))};
}

std::string textOf(const redisReply& reply) { return {reply.str == nullptr ? "" : reply.str, reply.len}; }

std::optional<std::string> elementOf(const redisReply& reply, std::size_t index) {
  if (reply.type != REDIS_REPLY_ARRAY || index >= reply.elements) return std::nullopt;
  const redisReply& element = *reply.element[index];
  if (element.type != REDIS_REPLY_STRING && element.type != REDIS_REPLY_STATUS) return std::nullopt;
  return textOf(element);
}

FenceError errorOf(const std::string& where, const std::string& message, bool mayBeWritten) {
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& one) { return message.starts_with(one.begin); });
  const bool known = rule != rules.end();
  return fenceError({known ? rule->errorClass : ErrorClass::misconfigured,
                     where + ": " + message + (known ? std::string{rule->advice} : std::string{})},
                    mayBeWritten);
}

namespace {

constexpr std::size_t headOfAnAnswer = 2;  // the word and the mark

FenceError notUnderstood(const Asked& asked, bool mayBeWritten) {
  return fenceError(
      {ErrorClass::transient, asked.server +
                                  ": the answer does not belong to the request. Either something between here and the "
                                  "server answers in its place, or the program did not read the answer to an earlier "
                                  "command on this connection. Connect again and open another fence"},
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
std::optional<FenceError> errorIn(const TermStamp& stamp, const redisReply& reply) {
  const auto token = parseFencingToken(elementOf(reply, 2).value_or(""));
  if (!token) return std::nullopt;
  return termError(stamp, TermStamp{stamp.lease, *token, elementOf(reply, 3).value_or("")});
}

}  // namespace

FenceResult<RedisReplies> judge(const Asked& asked, const TermStamp& stamp, const redisReply& reply) {
  // An error of the script as a whole comes from its first write or before, so nothing was written.
  if (reply.type == REDIS_REPLY_ERROR) return errorOf(asked.server, textOf(reply), false);
  if (elementOf(reply, 1) != asked.mark) return notUnderstood(asked, true);
  const std::string word = elementOf(reply, 0).value_or("");
  if (word == "done" && isListOf(reply, headOfAnAnswer + asked.commands)) return repliesIn(reply);
  const std::string first = elementOf(reply, 2).value_or("");
  if (word == "failed" && isListOf(reply, 4)) {
    return errorOf(asked.server + ": command " + first + " of a fenced write", elementOf(reply, 3).value_or(""),
                   first != "1");
  }
  if (word == "damaged" && isListOf(reply, 3)) return damagedFence(asked.key, stamp.lease, first);
  if ((word == "stale" || word == "foreign") && isListOf(reply, 4)) {
    if (auto error = errorIn(stamp, reply)) return *std::move(error);
  }
  return notUnderstood(asked, true);
}

FenceResult<std::optional<TermStamp>> seenIn(const Asked& asked, const std::string& lease, const redisReply& reply) {
  if (reply.type == REDIS_REPLY_ERROR) return errorOf(asked.server, textOf(reply), false);
  if (!isListOf(reply, 2)) return notUnderstood(asked, false);
  const auto text = elementOf(reply, 0);
  if (!text && reply.element[0]->type == REDIS_REPLY_NIL) return std::optional<TermStamp>{};
  const auto token = parseFencingToken(text.value_or(""));
  if (!token) return damagedFence(asked.key, lease, text.value_or(""));
  return std::optional{TermStamp{lease, *token, elementOf(reply, 1).value_or("")}};
}

}  // namespace tenure::redis_fence
