// Where clients connect.
#pragma once

#include <string>

#include "io.hpp"
#include "settings.hpp"

namespace tenure::cli::fence_proxy {

using Acceptor = asio::basic_socket_acceptor<tcp, Executor>;

/// An address in digits, not a name.
[[nodiscard]] bool isAddress(const std::string& host);

/// `127.0.0.1:8080`, `[::1]:8080`.
[[nodiscard]] std::string textOf(const tcp::endpoint& endpoint);

/// Empty if it listens; else why not, and what to do.
[[nodiscard]] std::string listenOn(Acceptor& acceptor, const Address& address);

}  // namespace tenure::cli::fence_proxy
