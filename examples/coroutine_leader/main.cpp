// A leader as a coroutine: it waits until it is elected, works until it is revoked, and waits again. The lease is
// released when the work has ended, whatever way it went.
#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <tenure/config/load_group.hpp>
#include <tenure/election/elector_asio.hpp>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace boost::asio::experimental::awaitable_operators;

/// The work of one term. It is cancelled where it waits; between two waits it looks whether it still leads.
asio::awaitable<void> work(tenure::Leadership term) {
  asio::steady_timer timer{co_await asio::this_coro::executor};
  for (int step = 1; term.leads(); ++step) {
    std::cout << "step " << step << " with fencing token " << term.fencingToken() << std::endl;
    timer.expires_after(100ms);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> lead(tenure::AsyncElector& elector) {
  const auto executor = co_await asio::this_coro::executor;
  while (auto term = co_await tenure::asyncWaitElected(elector, executor, asio::use_awaitable)) {
    co_await (work(term->leadership()) || tenure::asyncWaitRevoked(*term, executor, asio::use_awaitable));
    std::cout << "has ended term " << term->fencingToken() << std::endl;
  }
  const auto result = co_await tenure::asyncStop(elector, executor, asio::use_awaitable);
  std::cout << "has stopped (" << result << ')' << std::endl;
}

void rethrow(const std::exception_ptr& fault) {
  if (fault) std::rethrow_exception(fault);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument{"usage: coroutine_leader GROUP.yaml"};
  asio::io_context io{1};
  tenure::AsyncElector elector{tenure::loadGroup(argv[1]).value()};  // destroyed before the loop
  asio::signal_set signals{io, SIGINT, SIGTERM};
  signals.async_wait([&](const boost::system::error_code&, int) { elector.requestStop(); });
  asio::co_spawn(io, lead(elector), rethrow);
  elector.start();
  io.run();  // until lead() returns
} catch (const std::exception& error) {
  std::cerr << "coroutine_leader: " << error.what() << '\n';
  return 1;
}
