#include "listener.hpp"

namespace tenure::cli::fence_proxy {
namespace {

std::string reasonOf(const error_code& error, const tcp::endpoint& endpoint) {
  const std::string where = textOf(endpoint);
  if (error == asio::error::address_in_use) {
    return "port " + std::to_string(endpoint.port()) + " is taken: another process listens on " + where +
           " (ss -ltnp tells which); give --listen another port";
  }
  if (error == asio::error::access_denied) {
    return "this user may not listen on " + where +
           "; ports below 1024 need CAP_NET_BIND_SERVICE, or give --listen a higher one";
  }
  if (error == error_code{EADDRNOTAVAIL, boost::system::system_category()}) {
    return "this machine has no address " + endpoint.address().to_string() +
           "; give --listen one that it has, or 0.0.0.0";
  }
  return "cannot listen on " + where + ": " + error.message();
}

}  // namespace

bool isAddress(const std::string& host) {
  error_code error;
  (void)asio::ip::make_address(host, error);
  return !error;
}

std::string textOf(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? '[' + host + ']' : host) + ':' + std::to_string(endpoint.port());
}

std::string listenOn(Acceptor& acceptor, const Address& address) {
  error_code error;
  const tcp::endpoint endpoint{asio::ip::make_address(address.host, error), address.port};
  if (!error) acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address{true}, error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  return error ? reasonOf(error, endpoint) : std::string{};
}

}  // namespace tenure::cli::fence_proxy
