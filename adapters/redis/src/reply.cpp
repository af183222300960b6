#include "reply.hpp"

#include <algorithm>
#include <array>
#include <string_view>

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
    Rule{"NOPERM", ErrorClass::credentials, "; the user needs EVAL, EVALSHA, SCRIPT, HMGET, HSET and the commands"},
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

FenceError troubleOf(const std::string& where, const std::string& message, bool mayBeWritten) {
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& one) { return message.starts_with(one.begin); });
  const bool known = rule != rules.end();
  return fenceTrouble({known ? rule->errorClass : ErrorClass::misconfigured,
                       where + ": " + message + (known ? std::string{rule->advice} : std::string{})},
                      mayBeWritten);
}

}  // namespace tenure::redis_fence
