#include <utility>

#include "calls.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::postgresql_store {

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
  WriteJob write = core->jobs().setTokens(key, expected, token, uuid4(random));
  const std::size_t decides = write.decides;
  StoreCore::run(core, std::move(write.job), deadline,
                 [core, key, token, decides, handler = std::move(handler)](const JobReply& reply) {
                   const Verdict verdict =
                       verdictOnWrite(core->call("setting the tokens of lease " + toString(key)), reply);
                   if (verdict.fate == Fate::notApplied) return handler(Rejected{verdict.error});
                   if (verdict.fate == Fate::unknown) return handler(Unknown{verdict.error});
                   for (std::size_t at = decides; at < reply.rows.size(); ++at) {
                     if (!reply.rows[at].empty()) return handler(Applied{token});
                   }
                   handler(Conflict{});
                 });
}

}  // namespace tenure::postgresql_store
