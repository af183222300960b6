// The open connections of clients, and which of them is closed to make room for another.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "session.hpp"

namespace tenure::gateway {

/// At most `limit` in all, and half as many from one address (for IPv6: from one network of 64 bits). Where there is no
/// room, the connection that has been silent for longest is closed; so connections on which nobody sends keep no client
/// out.
class ClientTable {
 public:
  explicit ClientTable(std::size_t limit) : limit_{limit} {}

  /// The name of the group: addresses of one group count as one.
  [[nodiscard]] static std::string groupOf(const asio::ip::address& address);

  /// Whether there is room for one more connection of this group; if necessary, room is made.
  [[nodiscard]] bool makeRoom(const std::string& group);

  void add(const std::shared_ptr<Session>& session, const std::string& group);
  void remove(const std::shared_ptr<Session>& session);
  [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }
  /// Makes the request under way on each of them its last one.
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

}  // namespace tenure::gateway
