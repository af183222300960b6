#include "socket_wait.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace tenure::postgresql_store {
namespace {

namespace asio = boost::asio;
using Descriptor = asio::posix::basic_stream_descriptor<asio::io_context::executor_type>;

class AsioWait final : public SocketWait {
 public:
  explicit AsioWait(asio::io_context& loop) : descriptor_{loop} {}
  ~AsioWait() override { release(); }
  AsioWait(const AsioWait&) = delete;
  AsioWait& operator=(const AsioWait&) = delete;

  void take(int fd) override {
    release();
    descriptor_.assign(fd);
  }

  void release() noexcept override {
    generation_ = std::make_shared<int>();
    if (descriptor_.is_open()) descriptor_.release();
  }

  void untilReadable(Ready ready) override { wait(Descriptor::wait_read, std::move(ready)); }
  void untilWritable(Ready ready) override { wait(Descriptor::wait_write, std::move(ready)); }

 private:
  void wait(Descriptor::wait_type kind, Ready ready) {
    // A fault of the wait shows itself again when libpq uses the socket, so `ready` is called for that as well.
    descriptor_.async_wait(kind, [weak = std::weak_ptr{generation_}, ready = std::move(ready)](const auto&) {
      if (!weak.expired()) ready();
    });
  }

  Descriptor descriptor_;
  std::shared_ptr<int> generation_{std::make_shared<int>()};
};

}  // namespace

std::unique_ptr<SocketWait> makeSocketWait(asio::io_context& loop) { return std::make_unique<AsioWait>(loop); }

}  // namespace tenure::postgresql_store
