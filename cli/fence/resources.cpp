#include "resources.hpp"

#include <utility>

#include <tenure/adapters/postgresql_fence_sql.hpp>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/runtime/regular_file.hpp"

namespace tenure::cli {
namespace {

std::pair<std::string, std::string> partsOf(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos) return {word, ""};
  return {word.substr(0, colon), word.substr(colon + 1)};
}

StoreError wrong(const std::string& text) { return {ErrorClass::misconfigured, text}; }

StoreResult<RecoverableResource> opened(const std::string& word, FenceResult<std::unique_ptr<FenceMemory>> memory) {
  if (!memory) return wrong(FenceError{memory.error()}.message);
  return RecoverableResource{word, *std::move(memory)};
}

/// For redis-cli, which reads words in double quotes as C does.
std::string redisWord(const std::string& text) {
  std::string out{'"'};
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (byte < 0x20) {
      out += "\\x" + hexOf(c);
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

StoreResult<RecoverableResource> openResource(const std::string& word) {
  const auto [kind, where] = partsOf(word);
  if (where.empty()) {
    return wrong("--resource takes KIND:WHERE, not \"" + word +
                 "\"; the kinds are sqlite:FILE, file:PATH, proxy:FILE, postgresql:SCHEMA, redis:PREFIX");
  }
  const bool isPath = kind == "sqlite" || kind == "file" || kind == "proxy";
  const std::string fault = isPath ? tenure::faultOfPath(where) : std::string{};
  if (!fault.empty()) return wrong("--resource: " + fault);
  if (kind == "sqlite") return opened(word, openSqliteFenceMemory(where));
  if (kind == "file") return opened(word, openFencedFileMemory(where));
#ifdef TENURE_HAS_HTTP_FENCE
  if (kind == "proxy") return opened(word, openHttpFenceMemory(where));
#endif
  if (kind == "postgresql" || kind == "redis") return RecoverableResource{word, nullptr};
  return wrong("--resource: \"" + kind + "\" is none of sqlite, file, proxy, postgresql, redis; for DynamoDB and S3 " +
               "docs/fencing has the steps");
}

std::string statementFor(const std::string& word, const TermStamp& memory) {
  const auto [kind, where] = partsOf(word);
  if (kind == "postgresql") return "-- " + kind + ", for psql\n" + postgresqlSetFenceSql(where, memory);
  return "HSET " + redisWord(where + memory.lease) + " lease " + redisWord(memory.lease) + " token " +
         toString(memory.token) + " holder " + redisWord(memory.holder) + '\n';
}

}  // namespace tenure::cli
