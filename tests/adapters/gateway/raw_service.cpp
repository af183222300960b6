#include "adapters/gateway/raw_service.hpp"

#include <sys/socket.h>
#include <utility>

#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace tenure::test {

RawService::RawService(Answer answer) : answer_{std::move(answer)}, acceptThread_{[this] { accept(); }} {}

RawService::~RawService() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    for (auto& socket : sockets_) ::shutdown(socket.native_handle(), SHUT_RDWR);
  }
  acceptThread_.join();
  for (std::thread& thread : threads_) thread.join();
}

bool RawService::send(boost::asio::ip::tcp::socket& socket, const std::string& bytes) {
  boost::system::error_code error;
  boost::asio::write(socket, boost::asio::buffer(bytes), error);
  return !error;
}

void RawService::reset(boost::asio::ip::tcp::socket& socket) {
  const std::lock_guard lock{mutex_};
  socket.set_option(boost::asio::socket_base::linger{true, 0});
  socket.close();
}

void RawService::accept() {
  for (;;) {
    boost::system::error_code error;
    boost::asio::ip::tcp::socket socket{io_};
    acceptor_.accept(socket, error);
    const std::lock_guard lock{mutex_};
    if (error || stopping_) return;
    sockets_.push_back(std::move(socket));
    threads_.emplace_back([this, &own = sockets_.back()] { serve(own); });
  }
}

void RawService::serve(boost::asio::ip::tcp::socket& socket) {
  std::string header;
  boost::system::error_code error;
  boost::asio::read_until(socket, boost::asio::dynamic_buffer(header), "\r\n\r\n", error);
  if (!error) answer_(*this, socket, header);
  ::shutdown(socket.native_handle(), SHUT_RDWR);
}

}  // namespace tenure::test
