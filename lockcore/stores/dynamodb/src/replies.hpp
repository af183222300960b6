// What the answers about leases mean. Pure.
#pragma once

#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include <tenure/lockcore/register.hpp>

#include "errors.hpp"
#include "lockcore/port/extended_store.hpp"
#include "record_codec.hpp"

namespace tenure::dynamodb_store {

/// The lease whose answers are examined.
struct Subject {
  const Layout& layout;
  const std::string& where;  ///< the store's description
  const LeaseKey& key;
};

using StoredOutcome = StoreResult<std::optional<StoredRecord>>;

/// The answer of readRequest.
[[nodiscard]] StoredOutcome itemIn(const Subject& subject, const boost::json::object& body);

/// Both items. Each was understood.
struct Pair : stored::StoredLease {
  Pair() = default;
  Pair(std::optional<StoredRecord> item, Companion counterItem);

  /// The counter may be gone, and the copy too, although somebody has used the lease before. (There is a foreign
  /// client's lock item, which may have erased ours, or the counter's item without its number.) Then nothing in the
  /// table shows how far the tokens had risen. In that case they go on from the wall clock's seconds since 1970
  /// (`revision`): a counter that began at 1 and rose less than once a second on average cannot have come further. This
  /// is the only use of the wall clock for a token. A wrong clock only makes this start value useless; it never makes a
  /// lease valid. Where neither item exists the lease is new as far as anybody can tell.
  [[nodiscard]] bool isTraceless() const;

  Companion companion{};  ///< what the conditions of a write need of the counter's item
};
/// The answer of readPairRequest. `throttled` if the service left an item out.
[[nodiscard]] StoreResult<Pair> pairIn(const Subject& subject, const boost::json::object& body);

/// One page of a listing, without the counters' items; `next` is the key at which the next one starts, as JSON.
[[nodiscard]] PageOutcome pageIn(const Layout& layout, const std::string& where, const boost::json::object& body);

/// The same, of the leases of one name. An item of another name is an error: the answer is not the query's.
[[nodiscard]] PageOutcome pageOfNameIn(const Layout& layout, const std::string& where, const std::string& name,
                                       const boost::json::object& body);

/// What the answer says that the request cost, in capacity units; empty if it does not say so.
[[nodiscard]] std::optional<double> costIn(const boost::json::object& body);

/// The answer of updateRequest. Applied if it shows `version` as the item's version, which only the table can know.
/// Else Unknown.
[[nodiscard]] WriteOutcome writtenIn(const Subject& subject, const CallName& call, const RecordVersion& version,
                                     const boost::json::object& body);

/// The answer of stepDownRequest: applied if it shows the item with the request for that term. Else Unknown.
[[nodiscard]] WriteOutcome askedIn(const Subject& subject, const CallName& call, FencingToken token,
                                   const boost::json::object& body);

/// Why a write was refused. `image` is the item at that moment, if the service returned it.
struct Cause {
  enum class Kind {
    condition,  ///< the lock item is not as expected
    busy,       ///< another transaction was at work on the items; it may be a copy of this one
    moved,      ///< the counter is not as it was read; the lock item may still be as expected
    other,      ///< see `error`
  };
  Kind kind{Kind::other};
  std::optional<boost::json::object> image{};
  StoreError error{};
};
/// The rejection in a Fault that was certainly not applied. For a transaction the first reason is the lock item's, the
/// second the counter's.
[[nodiscard]] Cause causeIn(const CallName& call, const Fault& fault);

}  // namespace tenure::dynamodb_store
