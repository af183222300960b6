// A listening socket, of TCP or Unix.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>

#include "election/src/listen_address.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::ops {

class ListenSocket {
 public:
  /// A Unix socket that a dead process left behind is replaced; its mode is 0660. The fault says what to do.
  [[nodiscard]] static boost::system::result<ListenSocket, AddressFault> open(ListenAddress address);

  /// Why open() would be refused now. Nothing is made, replaced or listened on.
  [[nodiscard]] TENURE_API static std::optional<AddressFault> obstacle(const ListenAddress& address);

  ListenSocket(ListenSocket&& other) noexcept = default;
  ListenSocket& operator=(ListenSocket&&) = delete;
  /// Removes a Unix socket, if it is still this one.
  ~ListenSocket();

  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
  [[nodiscard]] int family() const noexcept;
  /// With the port that the system chose.
  [[nodiscard]] const ListenAddress& address() const noexcept { return address_; }
  /// A connection, which is not inherited by programs that are executed. Empty, with errno, if there is none.
  [[nodiscard]] UniqueFd accept() const noexcept;

 private:
  ListenSocket(ListenAddress address, UniqueFd fd) : address_{std::move(address)}, fd_{std::move(fd)} {}
  ListenAddress address_;
  UniqueFd fd_;
  dev_t device_{0};
  ino_t inode_{0};
};

/// The numeric address at which the connection arrived; empty: a Unix socket.
[[nodiscard]] std::string arrivedAt(int connection);

/// Begins to connect. `error` is 0 (connected), EINPROGRESS or another errno.
[[nodiscard]] UniqueFd connectTo(const ListenAddress& address, int& error) noexcept;

}  // namespace tenure::ops
