// The clients' connections that are open, and which of them makes room for another.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "session.hpp"

namespace tenure::cli::fence_proxy {

/// At most `limit` in all, and half as many of one address (of IPv6: of one network of 64 bits). Where there is no
/// room, the connection that is silent for longest ends; connections that nobody sends anything on keep nobody out.
class ClientTable {
 public:
  explicit ClientTable(std::size_t limit) : limit_{limit} {}

  /// The addresses that count as one.
  [[nodiscard]] static std::string groupOf(const asio::ip::address& address);

  /// Whether there is room for one more of this group, which may have been made just now.
  [[nodiscard]] bool makeRoom(const std::string& group);

  void add(const std::shared_ptr<Session>& session, const std::string& group);
  void remove(const std::shared_ptr<Session>& session);
  [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }
  /// The request that each of them has under way is its last one.
  void stopAll() const;
  /// Ends requests under way that need no token.
  void endUnfenced() const;
  [[nodiscard]] bool hasFenced() const;

 private:
  [[nodiscard]] std::vector<std::shared_ptr<Session>> all() const;
  [[nodiscard]] bool endLongestSilent(const std::string* group) const;

  const std::size_t limit_;
  std::map<std::shared_ptr<Session>, std::string> groups_{};
  std::map<std::string, std::size_t> sizes_{};
};

}  // namespace tenure::cli::fence_proxy
