#include <algorithm>
#include <array>
#include <string_view>

#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "record_codec.hpp"

namespace tenure::dynamodb_store {
namespace {

using boost::json::object;

bool has(const object& item, std::string_view attribute) { return item.if_contains(attribute) != nullptr; }

/// "20s", "1m30s", "500ms": what Go's time.Duration prints.
bool isGoDuration(std::string_view text) {
  constexpr std::string_view units = "hmsunµ";
  if (text.empty() || text.find_first_of("0123456789") == std::string_view::npos) return false;
  if (text.find_first_not_of("0123456789.hmsunµ") != std::string_view::npos) return false;
  return text.back() == 's' && text.find_first_of(units) != std::string_view::npos;
}

bool isDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view leaseTextOf(const object& item) {
  const auto* text = textIn(item, "leaseDuration");
  return text != nullptr ? std::string_view{text->data(), text->size()} : std::string_view{};
}

bool isGoDynamolock(const object& item) { return isGoDuration(leaseTextOf(item)); }
bool isPython(const object& item) { return has(item, "record_version_number") && has(item, "lease_duration"); }
bool isRustDelta(const object& item) {
  const std::string_view lease = leaseTextOf(item);
  return isDigits(lease) && (lease.size() < 4 || textIn(item, "data") != nullptr);
}
bool isShedLock(const object& item) { return has(item, "lockUntil") && has(item, "lockedAt"); }
bool isDyndbMutex(const object& item) { return has(item, "expire_ts") && has(item, "holder"); }
bool isDistributedMutex(const object& item) { return has(item, "leaseExpiry") && has(item, "holderId"); }
bool isDotNetDynamoLock(const object& item) { return has(item, "lock_owner") && has(item, "expires"); }
bool isTristanls(const object& item) { return has(item, "leaseDurationMs") && has(item, "guid"); }
bool isMarkedOddly(const object& item) { return has(item, "isReleased") && has(item, "recordVersionNumber"); }

struct Writer {
  bool (*recognises)(const object&);
  std::string_view sentence;
};

constexpr std::array writers{
    Writer{isGoDynamolock,
           "It was probably written by Go's dynamolock (cirello-io), which keeps durations like \"20s\"."},
    Writer{isPython, "It was probably written by python_dynamodb_lock, which uses other attribute names."},
    Writer{isShedLock, "It was probably written by ShedLock."},
    Writer{isDyndbMutex, "It was probably written by dyndbmutex (Python)."},
    Writer{isDistributedMutex, "It was probably written by Aws.DistributedMutex (.NET)."},
    Writer{isDotNetDynamoLock, "It was probably written by DynamoLock (.NET)."},
    Writer{isTristanls, "It was probably written by tristanls' dynamodb-lock-client (Node.js)."},
    Writer{isRustDelta,
           "It was probably written by dynamodb_lock (Rust, of delta-rs), which keeps seconds and its data as text."},
    Writer{isMarkedOddly, "It looks like a lock of the AWS Java lock client that was edited by hand."},
};

}  // namespace

std::string likelyWriterOf(const Layout& layout, const object& item) {
  const auto writer = std::find_if(writers.begin(), writers.end(), [&](const Writer& w) { return w.recognises(item); });
  const std::string advice = " Give each of the two a separate table.";
  if (writer != writers.end()) {
    return std::string{writer->sentence} + (writer->recognises == isMarkedOddly ? "" : advice);
  }
  return "Neither tenure nor the AWS Java lock client writes such an item: table " + layout.table() +
         " is probably used by another program, or the item was edited by hand." + advice;
}

}  // namespace tenure::dynamodb_store
