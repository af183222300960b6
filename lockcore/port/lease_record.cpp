#include <ostream>
#include <string>

#include <tenure/lockcore/lease_record.hpp>

namespace tenure {

RecordVersion vanishedVersion(FencingToken token, std::chrono::milliseconds lease) {
  return RecordVersion{"counter:" + toString(token) + ':' + std::to_string(lease.count())};
}

LeaseRecord vanishedRecord(FencingToken token, std::chrono::milliseconds lease) {
  LeaseRecord record;
  record.holder = "unknown (its record was deleted)";
  record.version = vanishedVersion(token, lease);
  record.leaseDuration = lease;
  record.token = token;
  record.vanished = true;
  return record;
}

std::string toString(FencingToken token) { return std::to_string(token.value()); }

std::string withToken(FencingToken token) {
  return token.isNone() ? "without a fencing token" : "with fencing token " + toString(token);
}

/// Digits alone: the locale of a stream may put points between them.
std::ostream& operator<<(std::ostream& out, FencingToken token) { return out << std::to_string(token.value()); }

}  // namespace tenure
