// The active process serves TCP on one port; a passive one takes over. The election runs on the program's own
// io_context: renewal, callbacks and connections share one thread, so nothing here needs a lock.
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <syncstream>
#include <thread>

#include <boost/asio.hpp>

#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/asio.hpp>
#include <tenure/lockcore/candidate_id.hpp>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

std::osyncstream say() { return std::osyncstream{std::cout}; }

/// Leaves the acceptor closed if the port is in use; other faults are thrown.
void listen(tcp::acceptor& acceptor, const tcp::endpoint& where) {
  acceptor.open(where.protocol());
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  boost::system::error_code fault;
  acceptor.bind(where, fault);
  if (fault == asio::error::address_in_use) return acceptor.close();
  if (fault) throw boost::system::system_error{fault, "port " + std::to_string(where.port())};
  acceptor.listen();
}

/// Serves until the term ends, when onRevoked closes the acceptor.
asio::awaitable<void> serve(tcp::acceptor& acceptor, tcp::endpoint where, tenure::Leadership term) {
  asio::steady_timer pause{acceptor.get_executor()};
  while (!acceptor.is_open()) {  // a frozen former leader keeps the port until it wakes or dies
    pause.expires_after(std::chrono::milliseconds{20});
    co_await pause.async_wait(asio::use_awaitable);
    if (!term.leads()) co_return;
    listen(acceptor, where);
  }
  say() << "active on port " << where.port() << ", fencing token " << term.fencingToken() << std::endl;
  const std::string reply =
      std::string{tenure::nameOf(term.holder())} + ", fencing token " + tenure::toString(term.fencingToken()) + "\n";
  while (true) {
    auto [closed, peer] = co_await acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
    // A connection may have waited in the queue while this process was frozen. leads() reads the clock. A connection
    // that is accepted after the term is closed, so a former leader sends no answer.
    if (closed || !term.leads()) co_return;
    co_await asio::async_write(peer, asio::buffer(reply), asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument{"usage: active_passive GROUP.yaml PORT"};
  const tenure::Group group = tenure::loadGroup(argv[1]).value();
  const tcp::endpoint where{asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::stoul(argv[2]))};

  asio::io_context io{1};
  const auto keepRunning = asio::make_work_guard(io);
  tcp::acceptor acceptor{io};
  const auto goActive = [&](const tenure::Leadership& term) {
    listen(acceptor, where);  // an exception gives leadership up (reason fatal), so that another candidate may try
    asio::co_spawn(io, serve(acceptor, where, term), asio::detached);
  };
  const auto goPassive = [&](const tenure::TermEnd& why) {
    acceptor.close();  // the lease is released after this returns: the successor finds the port free
    say() << "passive (" << why.reason << ")" << std::endl;
  };
  tenure::Runtime runtime{
      .scheduler = tenure::makeAsioScheduler(io.get_executor()),
      .executor = [&io](std::function<void()> task) { asio::post(io, std::move(task)); },
  };
  tenure::LeaderElector elector{group, {.onElected = goActive, .onRevoked = goPassive}, std::move(runtime)};
  elector.start();
  std::jthread loop{[&io] { io.run(); }};

  tenure::waitForStopSignal();
  elector.stop();  // needs the loop: callbacks and the store's answers come on it
  io.stop();
} catch (const std::exception& error) {
  std::cerr << "active_passive: " << error.what() << '\n';
  return 1;
}
