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

}  // namespace tenure
