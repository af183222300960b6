// Any bytes as a lock token: an accepted one is written the same way again; a refused one gets one short line.
#include <cstdint>
#include <string>

#include "fuzz_support.hpp"
#include "lockcore/port/stored_key.hpp"
#include "lockcore/token/lock_token_parts.hpp"

namespace {

/// Adds the checksum that the text would need, so that the checks of the fields are reached, too.
std::string repaired(const std::string& text) {
  const std::string body = text.substr(0, text.rfind(",sum="));
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;
  for (const char c : body) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  char sum[17];
  std::snprintf(sum, sizeof sum, "%016llx", static_cast<unsigned long long>(hash));
  return body + ",sum=" + sum;
}

void tryText(std::string text) {
  using tenure::fuzz::require;
  const auto read = tenure::lockTokenFrom(text);
  if (!read) {
    tenure::fuzz::requireTellable(read.error().message);
    for (const char c : read.error().message) require(static_cast<unsigned char>(c) >= 0x20, "an error is one line");
    return;
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  require(tenure::lockTokenText(*read) == text, "a token has one spelling");
  require(tenure::faultsOfStored(read->key).empty() && !read->owner.empty() && !read->token.isNone(),
          "a token is usable");
  require(tenure::remainingOf(*read, read->clockDomain, read->sentAt).value_or(read->lease) <= read->lease,
          "a token never lasts longer than its lease");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  tryText(text);
  tryText(repaired(text));
  return 0;
}
