// What an etcd cluster does with the requests of the store, in memory: transactions, ranges, watches and compaction, in
// the JSON of its gateway. It takes every member of a request by its name, and ignores others, as the gateway does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

namespace tenure::test {

struct EtcdAnswer {
  int status{200};
  std::string body{};
};

/// Not thread-safe.
class EtcdCluster {
 public:
  struct Entry {
    std::string value;
    std::int64_t created{0};
    std::int64_t changed{0};
    std::int64_t version{0};
  };
  using Keys = std::map<std::string, Entry>;

  /// POST /v3/kv/txn. `old`: a member that lags so many revisions answers, if the request does not ask for the newest
  /// state.
  [[nodiscard]] EtcdAnswer txn(const std::string& body, std::size_t old = 0);

  /// POST /v3/watch: the lines go to `line`, the first one at once, until the number is given back.
  std::uint64_t watch(const std::string& body, std::function<void(std::string)> line);
  void unwatch(std::uint64_t watch) { watches_.erase(watch); }
  /// Ends every watch with this line.
  void breakWatches(const std::string& line);

  /// As an operator does with etcdctl.
  void put(const std::string& key, const std::string& value);
  void erase(const std::string& key);
  void compact() { compacted_ = revision_; }

  [[nodiscard]] const Keys& keys() const noexcept { return keys_; }
  [[nodiscard]] std::int64_t revision() const noexcept { return revision_; }

  /// An error as the gateway writes it.
  [[nodiscard]] static EtcdAnswer error(int status, int code, const std::string& message);

 private:
  struct Watch {
    std::string first, end;
    std::function<void(std::string)> line;
  };
  struct Change {
    std::string key;
    bool erased;
  };

  [[nodiscard]] bool holds(const boost::json::object& compare) const;
  [[nodiscard]] bool refuses(const boost::json::object& request) const;
  boost::json::object run(const boost::json::object& operation, std::size_t old, std::vector<Change>& changes);
  boost::json::object range(const boost::json::object& request, std::size_t old) const;
  void tell(const std::vector<Change>& changes);
  [[nodiscard]] boost::json::object header() const;

  std::int64_t revision_{1};
  std::int64_t compacted_{0};
  Keys keys_{};
  std::vector<Keys> past_{Keys{}, Keys{}};  ///< by revision
  std::map<std::uint64_t, Watch> watches_{};
  std::uint64_t lastWatch_{0};
};

}  // namespace tenure::test
