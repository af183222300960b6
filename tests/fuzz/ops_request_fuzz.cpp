// Any bytes as what a client sends to the listener: each request is answered with one whole message, and the connection
// ends in time.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/ops/src/request_session.hpp"
#include "fuzz_support.hpp"

namespace {

using namespace tenure;
using tenure::fuzz::require;

ElectorView anElector() {
  static LeaderElector elector{Group::make({.group = "g", .candidate = {.id = "a"}}, makeMemoryStore()).value()};
  return elector.view();
}

/// Takes the messages apart, one after the other.
void requireMessages(std::string_view replies) {
  while (!replies.empty()) {
    require(replies.starts_with("HTTP/1.1 "), "a message begins with its status line");
    const std::string status{replies.substr(9, 3)};
    static const std::string known[] = {"200", "400", "404", "405", "408", "413", "421", "431", "503"};
    require(std::find(std::begin(known), std::end(known), status) != std::end(known), "the status is one of ours");
    const std::size_t end = replies.find("\r\n\r\n");
    require(end != std::string_view::npos, "a message has a whole header");
    const std::string_view head = replies.substr(0, end + 2);
    require(head.find("\r\nCache-Control: no-store\r\n") != std::string_view::npos, "nothing may be kept");
    const std::size_t length = head.find("\r\nContent-Length: ");
    require(length != std::string_view::npos, "a message says its length");
    const auto body = static_cast<std::size_t>(std::atoll(std::string{head.substr(length + 18, 10)}.c_str()));
    replies.remove_prefix(end + 4);
    // An answer to HEAD has the length of its body and not the body.
    if (!replies.starts_with("HTTP/1.1 ") || body == 0) replies.remove_prefix(std::min(body, replies.size()));
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return 0;
  const ssize_t sent = send(ends[0], data, size, MSG_NOSIGNAL);
  require(sent == static_cast<ssize_t>(size), "the input fits into the socket");
  shutdown(ends[0], SHUT_WR);

  const ops::ListenerOptions options{};
  ops::WatchedElectors electors{std::chrono::seconds{10}};
  electors.watch(anElector());
  boost::asio::io_context io{1};
  ops::Socket socket{io.get_executor()};
  socket.assign(ops::Protocol{AF_UNIX, 0}, ends[1]);
  const ListenAddress listener{"127.0.0.1", 9200};
  const auto session = std::make_shared<ops::RequestSession>(std::move(socket), options, listener, electors,
                                                             [](const auto& /*session*/) { return false; });
  bool ended = false;
  boost::asio::co_spawn(io, session->run(), [&](const std::exception_ptr& thrown) {
    require(!thrown, "no exception leaves a session");
    ended = true;
  });
  std::string replies;
  char piece[65536];
  while (!ended) {  // an answer may be larger than the socket's buffer, so the session may wait for this reader
    if (io.poll() == 0) io.run_one_for(std::chrono::milliseconds{1});
    require(ended || !io.stopped(), "a session that has not ended has something to wait for");
    for (ssize_t got = 0; (got = recv(ends[0], piece, sizeof piece, 0)) > 0;)
      replies.append(piece, static_cast<std::size_t>(got));
  }
  for (ssize_t got = 0; (got = recv(ends[0], piece, sizeof piece, 0)) > 0;)
    replies.append(piece, static_cast<std::size_t>(got));
  close(ends[0]);
  requireMessages(replies);
  return 0;
}
