// What the answers of members say. Pure; nothing here knows a lease. An answer of another shape is never a success.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "lockcore/net/call_fault.hpp"

namespace tenure::etcd_store {

struct KeyValue {
  std::string key;
  std::string value;  ///< empty after a deletion
  std::int64_t changedAt{0};
};

/// What one operation of a transaction did.
struct Part {
  enum class Kind { put, erase, read };
  Kind kind{Kind::put};
  std::vector<KeyValue> found{};  ///< by a read
  bool more{false};               ///< the read has left some out
  std::int64_t erased{0};         ///< how many keys
};

struct TxnReply {
  std::int64_t revision{0};  ///< of the whole cluster, when the transaction was carried out
  bool succeeded{false};     ///< everything was as required
  std::vector<Part> parts{};
};

using net::Misunderstood;

[[nodiscard]] boost::system::result<TxnReply, Misunderstood> txnReplyFrom(std::string_view body);

struct WatchEvent {
  bool erased{false};
  KeyValue entry;
};

/// One line of a watch.
struct WatchLine {
  bool created{false};
  std::vector<WatchEvent> events{};
};

/// An error if the watch has ended: by an error inside of it, a compaction, or a line that is not understood.
[[nodiscard]] boost::system::result<WatchLine, Misunderstood> watchLineFrom(std::string_view line);

}  // namespace tenure::etcd_store
