#include "crash_notice.hpp"

namespace tenure::cli {

CrashStep nextStep(const CrashFacts& facts) noexcept {
  if (facts.left.count() <= 0) return CrashStep::leave;
  return facts.supervisorEnded && facts.reapersLeft == 0 ? CrashStep::release : CrashStep::wait;
}

std::optional<WriteRequest> releaseOf(const LeaseKey& key, const NoticedTerm& term,
                                      const std::optional<LeaseRecord>& found, const std::string& version) {
  if (!found || found->released || found->holder != term.holder || found->token != term.token) return std::nullopt;
  WriteRequest request{
      .key = key, .purpose = WriteRequest::Purpose::release, .expected = {found->version}, .record = *found};
  request.record.version = RecordVersion{version};
  request.record.released = true;
  return request;
}

}  // namespace tenure::cli
