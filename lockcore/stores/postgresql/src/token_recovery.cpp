#include <utility>

#include "calls.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::postgresql_store {
namespace {

WriteOutcome outcomeOf(const Call& call, const JobReply& reply, FencingToken token) {
  const Verdict verdict = verdictOnWrite(call, reply);
  if (verdict.fate == Fate::notApplied) return Rejected{verdict.error};
  if (verdict.fate == Fate::unknown) return Unknown{verdict.error};
  for (const auto& rows : reply.rows) {
    if (rows.empty()) continue;
    const Row& row = rows.front();
    if (row.empty() || tokenFrom(row.front()) != token) return Unknown{errorOfToken(call)};
    return Applied{token};
  }
  return Conflict{};
}

}  // namespace

void readTokens(const CorePtr& core, const LeaseKey& key, const Deadline& deadline, TokensHandler handler) {
  StoreCore::run(core, Jobs::read(key), deadline, [core, key, handler = std::move(handler)](const JobReply& reply) {
    const Call call = core->call("reading the tokens of lease " + toString(key));
    if (auto fault = faultOfRead(call, reply)) return handler(std::move(*fault));
    const bool answered = !reply.rows.empty() && !reply.rows.front().empty();
    if (!answered) return handler(errorOf(call, JobReply::Cause::transient, "the answer has no row"));
    handler(tokensFrom(reply.rows.front().front()));
  });
}

void setTokens(const CorePtr& core, const LeaseKey& key, const StoredTokens& expected, FencingToken token,
               const Deadline& deadline, WriteHandler handler) {
  SystemRandom random;
  StoreCore::run(core, Jobs::setTokens(key, expected, token, uuid4(random)), deadline,
                 [core, key, token, handler = std::move(handler)](const JobReply& reply) {
                   const Call call = core->call("setting the tokens of lease " + toString(key));
                   WriteOutcome outcome = outcomeOf(call, reply, token);
                   tellOf(*core, key, outcome);
                   handler(std::move(outcome));
                 });
}

}  // namespace tenure::postgresql_store
