#include "simulation/clients/lock_taking.hpp"

namespace tenure::test {
namespace {

/// The record if it is of this term, released or not.
std::optional<LeaseRecord> recordOfTerm(const World& world, const Lock& lock) {
  auto record = world.recordOf(lock.key());
  const bool his =
      record && !record->vanished && record->holder == lock.holder() && record->token == lock.fencingToken();
  return his ? record : std::nullopt;
}

}  // namespace

void judgeWon(World& world, const Taking& one, const Lock& lock) {
  const AcquireOptions& asked = one.options;
  if (lock.key() != one.key) world.broke("won", "a lock of another key: " + lock.holder());
  if (lock.lease() != asked.lease.value_or(world.plan().lease))
    world.broke("won", "with another lease: " + lock.holder());
  if (asked.data && asked.replaceData && lock.data() != *asked.data)
    world.broke("won", "with other data: " + lock.holder());
  const auto record = recordOfTerm(world, lock);
  if (!record || record->released) return;
  if (record->data != lock.data() || record->attributes != lock.attributes())
    world.broke("won", "the handle's data are not those of the record: " + lock.holder());
  if (record->leaseDuration != lock.lease()) world.broke("won", "the record states another lease: " + lock.holder());
}

void judgeRenewed(World& world, const Taking& one) {
  const Lock& lock = *one.lock;
  const RenewOptions& asked = one.lastAsked;
  const auto data = asked.clearData ? std::optional<std::string>{""} : asked.data;
  if (data && lock.data() != *data) world.broke("renewed", "the handle has other data: " + lock.holder());
  if (asked.lease && lock.lease() != *asked.lease)
    world.broke("renewed", "the handle has another lease: " + lock.holder());
  const auto record = recordOfTerm(world, lock);
  if (!record || record->released || one.renewalFailed) return;
  if (record->data != lock.data()) world.broke("renewed", "the record has other data: " + lock.holder());
  if (record->leaseDuration != lock.lease())
    world.broke("renewed", "the record states another lease: " + lock.holder());
}

void judgeReleased(World& world, const Taking& one) {
  const auto record = recordOfTerm(world, *one.lock);
  if (!record) return;
  if (!record->released) world.broke("result", "told `released`, and the record is his: " + one.lock->holder());
  if (one.closing) return;  // the client's close gave it up by rules of its own
  if (one.left.deleteRecord.value_or(one.options.deleteOnRelease))
    world.broke("result", "the release was to remove the record: " + one.lock->holder());
  if (one.left.data && record->data != *one.left.data)
    world.broke("result", "the release has not left its data: " + one.lock->holder());
}

}  // namespace tenure::test
