#include <ostream>
#include <stdexcept>
#include <string>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lock_error.hpp>

#include "lock_errors.hpp"
#include "saturating_time.hpp"

namespace tenure {
namespace {

/// The time in seconds, with tenths.
std::string seconds(std::chrono::nanoseconds time) {
  const auto tenths = time / std::chrono::milliseconds{100};
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " s";
}

// Boost's category is never destroyed by its base, which has a protected destructor with some compilers only.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class LockCategory final : public boost::system::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "tenure.lock"; }
  [[nodiscard]] std::string message(int value) const override {
    return std::string{toString(static_cast<LockErrc>(value - 1))};
  }
};
#pragma GCC diagnostic pop

}  // namespace

const boost::system::error_category& lockCategory() noexcept {
  static const LockCategory category;
  return category;
}

boost::system::error_code make_error_code(LockErrc code) noexcept {
  return {static_cast<int>(code) + 1, lockCategory()};
}

LockErrc lockErrcOf(ErrorClass errorClass) {
  switch (errorClass) {
    case ErrorClass::transient:
    case ErrorClass::throttled:
      return LockErrc::storeUnavailable;
    case ErrorClass::credentials:
      return LockErrc::accessDenied;
    case ErrorClass::misconfigured:
      return LockErrc::storeMisconfigured;
    case ErrorClass::corrupt:
      return LockErrc::recordCorrupt;
  }
  return LockErrc::storeUnavailable;
}

std::string_view toString(LockErrc code) noexcept {
  switch (code) {
    case LockErrc::held:
      return "held";
    case LockErrc::heldBySelf:
      return "heldBySelf";
    case LockErrc::timeout:
      return "timeout";
    case LockErrc::missing:
      return "missing";
    case LockErrc::invalidOptions:
      return "invalidOptions";
    case LockErrc::storeUnavailable:
      return "storeUnavailable";
    case LockErrc::unknown:
      return "unknown";
    case LockErrc::accessDenied:
      return "accessDenied";
    case LockErrc::storeMisconfigured:
      return "storeMisconfigured";
    case LockErrc::recordCorrupt:
      return "recordCorrupt";
    case LockErrc::lost:
      return "lost";
    case LockErrc::notHeld:
      return "notHeld";
    case LockErrc::cancelled:
      return "cancelled";
    case LockErrc::closed:
      return "closed";
    case LockErrc::wouldBlock:
      return "wouldBlock";
    case LockErrc::forked:
      return "forked";
    case LockErrc::malformed:
      return "malformed";
    case LockErrc::superseded:
      return "superseded";
  }
  return "invalid";
}

std::ostream& operator<<(std::ostream& out, LockErrc code) { return out << toString(code); }

void throw_exception_from_error(const LockError& error, const boost::source_location& /*where*/) {
  throw std::runtime_error(error.message);
}

LockError storeError(const LeaseKey& key, const StoreError& error) {
  LockError out{lockErrcOf(error.errorClass), "lock " + toString(key) + ": " + error.message};
  out.store = error;
  return out;
}

LockError invalidOptionsError(const LeaseKey& key, OptionFaults faults) {
  LockError out{LockErrc::invalidOptions, "lock " + toString(key) + ": invalid options"};
  for (const OptionFault& fault : faults) out.message += "; " + fault.field + ": " + fault.message;
  out.faults = std::move(faults);
  return out;
}

std::string describe(const HolderInfo& holder) {
  std::string out = personOf(holder.holder) + ' ' + withToken(holder.token);
  using std::chrono::milliseconds;
  const auto held =
      saturating::difference(milliseconds{wallClockMillisForDisplay()}, milliseconds{holder.acquiredAtMillis});
  if (holder.acquiredAtMillis > 0 && held.count() >= 0) out += " for " + seconds(held);
  return out + "; its version has not changed for " + seconds(holder.unchangedFor) + " of its lease of " +
         seconds(holder.lease);
}

}  // namespace tenure
