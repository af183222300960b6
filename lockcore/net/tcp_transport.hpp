// Internal: TCP over Asio. Only tcp_transport.cpp and http_client.cpp know Asio.
#pragma once

#include <memory>

#include "transport.hpp"

namespace boost::asio {
class io_context;
}

namespace tenure::net {

/// The loop must outlive the dialer and its wires, and run on one thread only.
[[nodiscard]] std::unique_ptr<Dialer> makeTcpDialer(boost::asio::io_context& loop);

}  // namespace tenure::net
