// A fenced writer for items of DynamoDB: the fencing token is compared by a condition of the write itself.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

namespace aws {
class JsonClient;
}

/// The table in which transactions keep the tokens: one item for each lease, with the key `tenure-fence#<lease>`.
struct DynamoDbGuard {
  std::string table{};
  std::string partitionKey{"key"};  ///< of type S
  std::string sortKey{};            ///< of type S; empty: the table has none
};

struct DynamoDbFenceOptions {
  std::string region{};    ///< empty: as the SDKs find it
  std::string endpoint{};  ///< empty: as the SDKs find it
  std::string profile{};
  std::string caFile{};
  DynamoDbGuard guard{};                     ///< only for transact()
  std::chrono::milliseconds timeout{5'000};  ///< of one call; a day at most
};

/// One write, in DynamoDB's own terms. `item`, `names` and `values` are JSON objects as in the service's API:
/// {"id":{"S":"7"}}, {"#n":"name"}, {":v":{"N":"1"}}. Names that begin with #tenure and values that begin with :tenure
/// are reserved for the fence.
struct DynamoDbWrite {
  enum class Kind { put, update, erase };

  Kind kind{Kind::put};
  std::string table{};
  std::string item{};       ///< put: the whole item; update and erase: its key
  std::string update{};     ///< update: its expression, "SET #n = :v"
  std::string condition{};  ///< your condition, in addition to the fence's; its parentheses must match; may be empty
  std::string names{};
  std::string values{};
};

enum class DynamoDbWritten {
  done,
  conditionFailed,  ///< the fence admitted it, but your own condition did not hold: nothing was written
};

/// Two ways, each a single request to the service:
///
/// - write() fences **one item alone**: the item carries the token in the attribute `tenure_fence:<lease>` ({"M":
///   {"token":...,"holder":...}}). The fence's scope is that item: a new leader keeps its predecessor out of an item by
///   writing the item. A put replaces the whole item, also the tokens of other leases. An item that is gone remembers
///   no token, so write() does not erase.
/// - transact() fences **the lease as a whole**: TransactWriteItems with the guard's item. Everything in the table that
///   is only written this way is fenced by one token, deletions too. It uses twice the capacity, and writes of one
///   lease conflict with each other (`transient`) when they meet.
///
/// For one region only: a global table accepts writes in other regions without seeing these tokens. Blocks; any thread.
class TENURE_API DynamoDbFence {
 public:
  /// Makes no request. Throws std::invalid_argument if `caFile` begins with `~`, and as aws::makeJsonClient does.
  explicit DynamoDbFence(DynamoDbFenceOptions options = {}, Logger logger = {});
  DynamoDbFence(DynamoDbFenceOptions options, std::shared_ptr<aws::JsonClient> client);
  ~DynamoDbFence();
  DynamoDbFence(DynamoDbFence&&) noexcept;
  DynamoDbFence& operator=(DynamoDbFence&&) noexcept;

  [[nodiscard]] FenceResult<DynamoDbWritten> write(const TermStamp& stamp, const DynamoDbWrite& what);
  [[nodiscard]] FenceResult<DynamoDbWritten> write(const FencedTerm& term, const DynamoDbWrite& what) {
    return underTerm(term, [&](const TermStamp& stamp) { return write(stamp, what); });
  }

  /// 1 to 99 writes, all or none; no item twice.
  [[nodiscard]] FenceResult<DynamoDbWritten> transact(const TermStamp& stamp, const std::vector<DynamoDbWrite>& what);
  [[nodiscard]] FenceResult<DynamoDbWritten> transact(const FencedTerm& term, const std::vector<DynamoDbWrite>& what) {
    return underTerm(term, [&](const TermStamp& stamp) { return transact(stamp, what); });
  }

  /// The stamp that the guard's item remembers: that of transact(), not of write().
  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
