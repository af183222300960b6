// The bodies of requests. The server ignores a member that it does not know without a word, so tests compare each body
// byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::etcd_store {

inline constexpr std::string_view txnPath = "/v3/kv/txn";
inline constexpr std::string_view watchPath = "/v3/watch";

/// One transaction: whether the keys are as they were seen, what is done if they are, and what is read if they are not.
class Txn {
 public:
  /// The key was last changed at this revision; 0: there is no such key.
  void require(std::string_view key, std::int64_t revision);
  /// There is such a key, with this value.
  void requireValue(std::string_view key, std::string_view value);
  void put(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  /// A read as part of what is done; `revision` 0: the newest state.
  void read(std::string_view key, std::int64_t revision = 0);
  /// The same for all keys from `first` to before `end`, in their order, `most` of them.
  void readRange(std::string_view first, std::string_view end, std::size_t most);
  void elseRead(std::string_view key);
  void elseReadRange(std::string_view first, std::string_view end, std::size_t most);

  [[nodiscard]] std::string body() const;

 private:
  std::string compares_{};
  std::string done_{};
  std::string else_{};
};

/// Writes nothing, because it requires what no key has, and yet a member answers as if it did: without the right to
/// write both kinds of keys, without room in its database or without a quorum it is refused.
[[nodiscard]] std::string probeOfWrites(const std::string& records, const std::string& counters);

/// A watch over all keys that begin with `prefix`, from now on.
[[nodiscard]] std::string watchRequest(const std::string& prefix);

}  // namespace tenure::etcd_store
