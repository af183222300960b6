
#include <algorithm>

#include "simulated_network.hpp"

namespace tenure::test {
namespace {

std::string named(const std::string& version) { return version.empty() ? "no record" : "version " + version; }

std::string named(WriteRequest::Purpose purpose) {
  switch (purpose) {
    case WriteRequest::Purpose::acquire:
      return "an acquisition";
    case WriteRequest::Purpose::renew:
      return "a renewal";
    case WriteRequest::Purpose::release:
      break;
  }
  return "a release";
}

/// What differs from what was written; null: nothing that counts.
const char* difference(const LeaseRecord& written, const LeaseRecord& shown) {
  if (shown.holder != written.holder) return "holder";
  if (shown.token != written.token) return "fencing token";
  if (shown.released != written.released) return "released";
  if (shown.leaseDuration < written.leaseDuration) return "lease";  // a longer one only makes others wait
  if (shown.data != written.data) return "data";
  if (shown.attributes != written.attributes) return "attributes";
  return nullptr;
}

}  // namespace

std::string RegisterModel::see(const std::optional<LeaseRecord>& shown) {
  const std::string version = shown ? shown->version.text() : std::string{};
  if (shown && version.empty()) return "the store showed a record without a version";
  if (!stored_) stored_ = State{shown};
  if (stored_->version() != version) {
    return "the store showed " + named(version) + " although it has " + named(stored_->version());
  }
  const char* const differs = shown ? difference(*stored_->record, *shown) : nullptr;
  return differs == nullptr ? std::string{}
                            : "the store showed " + named(version) + " with another " + differs + " than was written";
}

std::string RegisterModel::judge(const ReadOutcome& answer) { return answer ? see(*answer) : std::string{}; }

bool RegisterModel::admits(const WriteRequest& request) const {
  if (request.expected.empty()) return !stored_->record;
  const auto isStored = [&](const RecordVersion& version) { return version.text() == stored_->version(); };
  if (std::none_of(request.expected.begin(), request.expected.end(), isStored)) return false;
  return request.purpose == WriteRequest::Purpose::acquire || request.record.holder == stored_->holder();
}

std::string RegisterModel::judge(const WriteRequest& request, const Applied& applied) {
  const std::string what = named(request.purpose);
  if (stored_ && !admits(request)) {
    return what + " of " + request.record.holder + " was carried out, which expected " +
           named(request.expected.empty() ? std::string{} : request.expected.front().text()) + "; stored was " +
           named(stored_->version()) + " of " + stored_->holder();
  }
  if (request.purpose == WriteRequest::Purpose::acquire) {
    if (applied.token <= std::max(highest_, request.tokenFloor)) {
      return what + " got the fencing token " + std::to_string(applied.token.value()) + ", and there was " +
             std::to_string(std::max(highest_, request.tokenFloor).value()) + " before";
    }
    highest_ = applied.token;
  } else if (stored_ && stored_->record && applied.token != stored_->record->token) {
    return what + " changed the fencing token from " + std::to_string(stored_->record->token.value()) + " to " +
           std::to_string(applied.token.value());
  }
  stored_ = State{};
  if (request.removes) return {};
  stored_->record = request.record;
  stored_->record->token = applied.token;
  return {};
}

std::string RegisterModel::judge(const WriteRequest& request, const Conflict& conflict) {
  if (stored_ && admits(request))
    return named(request.purpose) + " met a conflict although the record was as it expected";
  return conflict.current ? see(*conflict.current) : std::string{};
}

std::string RegisterModel::judge(const WriteRequest& request, const WriteOutcome& answer) {
  if (const auto* applied = std::get_if<Applied>(&answer)) return judge(request, *applied);
  if (const auto* conflict = std::get_if<Conflict>(&answer)) return judge(request, *conflict);
  if (std::holds_alternative<Unknown>(answer)) stored_.reset();
  return {};
}

}  // namespace tenure::test
