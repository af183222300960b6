// The members of one cluster, as every call and every stream uses them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "lockcore/net/http_client.hpp"
#include "members.hpp"

namespace tenure::etcd_store {

/// By which the deadlines of calls are counted.
[[nodiscard]] std::chrono::nanoseconds now();

/// What proves that an answer (status 200), or a line of a stream, is that of a member of etcd: it begins with the
/// header that names a cluster. A login page has none, nor has another server that took a member's address over. Empty:
/// there is none.
[[nodiscard]] std::optional<std::uint64_t> clusterIn(std::string_view text);

/// Thread-safe.
class MemberLink {
 public:
  MemberLink(const std::vector<std::string>& endpoints, Logger logger);

  /// The client belongs to the gateway, whose end cancels what is under way.
  void use(const std::shared_ptr<net::HttpClient>& client) { client_ = client; }
  /// Null: the gateway is gone.
  [[nodiscard]] std::shared_ptr<net::HttpClient> client() const { return client_.lock(); }

  [[nodiscard]] std::size_t size() const noexcept { return origins_.size(); }
  [[nodiscard]] const net::Origin& origin(std::size_t member) const { return origins_[member]; }
  [[nodiscard]] std::string nameOf(std::size_t member) const { return toString(origins_[member]); }
  /// All of them.
  [[nodiscard]] std::string describe() const;

  /// As Members.
  [[nodiscard]] std::optional<std::size_t> next(const std::vector<bool>& tried);
  void answered(std::size_t member);
  void failed(std::size_t member, const std::string& why);

  /// Empty: it is the cluster that answered first. Else why the member is not believed: two clusters would both give
  /// the lease away.
  [[nodiscard]] std::string whyForeign(std::size_t member, std::uint64_t cluster);

 private:
  std::vector<net::Origin> origins_{};
  const Logger logger_;
  std::weak_ptr<net::HttpClient> client_{};

  std::mutex mutex_;
  Members members_;  ///< guarded by mutex_, as all that follow
  std::optional<std::uint64_t> cluster_{};
  std::size_t first_{0};  ///< which member told the cluster
  std::set<std::size_t> foreign_{};
};
using MemberLinkPtr = std::shared_ptr<MemberLink>;

}  // namespace tenure::etcd_store
