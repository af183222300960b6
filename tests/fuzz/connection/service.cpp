#include "connection/service.hpp"

#include <algorithm>
#include <fcntl.h>
#include <utility>

#include "connection/sockets.hpp"

namespace tenure::fuzz {
namespace {

std::string answerTo(const ReadRequest& request, const std::string& more = {}) {
  return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + std::string{Service::answersName} + ": " + request.target +
         "\r\n" + more + "\r\n" + (request.method == "HEAD" ? "" : "ok");
}

std::string strayAnswer() {
  return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + std::string{Service::strayMark} + ": 1\r\n\r\n";
}

std::string bytesOf(const Answer& answer, const ReadRequest& request) {
  const std::string ok = answerTo(request);
  const std::string head = "HTTP/1.1 200 OK\r\n";
  switch (answer.kind) {
    case 'c':
      return answerTo(request, "Connection: close\r\n");
    case 'k':
      return head + "Transfer-Encoding: chunked\r\n\r\n1;a=b\r\no\r\n1\r\nk\r\n0\r\nA: b\r\n\r\n";
    case 'u':
      return head + "\r\nok";
    case 'h':
      return head + "Content-Length: 9\r\n\r\nhalf";
    case 'l':
      return ok + strayAnswer();
    case 'i':
      return "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok;
    case 'w':
      return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
    case 'x':
      return std::string("\0\1\2 no HTTP\r\n\r\n", 14);
    case 'b':
      return head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    case 't':
      return answerTo(request, "Fencing-Token: billing=77;holder=\"" + std::string{Service::forgedHolder} + "\"\r\n");
    case 'n':
      return "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello";
    case 'm':
      return "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n";
    case 'H':
      return head + "Content-Length: 2\r\n\r\nok";
    case 'z':
      return head + "Transfer-Encoding: chunked\r\n\r\n";
    case 'A':
      return answer.bytes;
    default:
      return ok;
  }
}

}  // namespace

Service::Service() {
  const Listening made = listenOnLoopback();
  listener_ = made.socket;
  port_ = made.port;
  (void)::fcntl(listener_, F_SETFL, O_NONBLOCK);
}

Service::~Service() {
  reset({});
  closeSocket(listener_, false);
}

void Service::reset(std::deque<Answer> answers) {
  while (accept()) {
  }
  for (const auto& one : connections_) {
    if (one->socket >= 0) closeSocket(one->socket, true);
  }
  connections_.clear();
  answers_ = std::move(answers);
  now_ = 0;
  keptBytes_ = 0;
  silent_ = false;
}

bool Service::step() {
  bool moved = accept();
  for (const auto& one : connections_) {
    if (one->socket >= 0 && !one->ended) moved |= receive(*one);
  }
  return moved;
}

void Service::watch(std::vector<int>& sockets) const {
  sockets.push_back(listener_);
  for (const auto& one : connections_) {
    if (one->socket >= 0 && !one->ended) sockets.push_back(one->socket);
  }
}

bool Service::accept() {
  const int made = acceptFrom(listener_);
  if (made < 0) return false;
  connections_.push_back(std::make_unique<Connection>());
  connections_.back()->socket = made;
  return true;
}

bool Service::receive(Connection& connection) {
  const std::size_t had = connection.bytes.size();
  if (!receiveSome(connection.socket, connection.bytes, connection.ended)) return false;
  keptBytes_ += connection.bytes.size() - had;
  ++now_;
  if (!connection.ended) read(connection);
  // A client that sends nothing more gets its outstanding answers and then the end, except from a service that is
  // stuck.
  const bool stuck = !connection.arrivals.empty() && connection.arrivals.back().answered == 0 &&
                     connection.arrivals.back().request.isWhole();
  if (connection.ended && connection.socket >= 0 && !stuck) end(connection, false);
  return true;
}

void Service::read(Connection& connection) {
  while (connection.readUpTo < connection.bytes.size()) {
    auto& arrivals = connection.arrivals;
    const bool begun = !arrivals.empty() && !arrivals.back().request.isWhole();
    if (begun && arrivals.back().request.fault != nullptr) return;  // the judge finds it
    if (!begun) arrivals.emplace_back().firstByte = now_;
    Arrival& last = arrivals.back();
    const bool hadHead = last.request.headEnd != 0;
    last.lastByte = now_;
    last.request = readStrictly(connection.bytes, connection.readUpTo);
    if (last.request.headEnd != 0 && !hadHead) {
      const auto claims = last.request.values("fencing-token");
      last.token = claims.empty() ? 0 : claimedToken(claims.front(), lease);
      begins(last);
      if (!answers_.empty() && answers_.front().kind == 'e') answer(connection, last);
    }
    if (!last.request.isWhole()) return;
    connection.readUpTo = last.request.end;
    if (last.answered == 0) answer(connection, last);
    if (connection.socket < 0) return;
  }
}

/// A request of a term has arrived: now nobody may wait any more for answers to requests of former terms.
void Service::begins(const Arrival& later) {
  for (const auto& connection : connections_) {
    for (Arrival& earlier : connection->arrivals) {
      if (earlier.answered != 0 || earlier.token == 0 || earlier.token >= later.token) continue;
      if (connection->socket < 0 || hasGone(connection->socket)) earlier.answered = now_;
    }
  }
}

void Service::answer(Connection& connection, Arrival& arrival) {
  Answer answer;
  if (!answers_.empty()) {
    answer = std::move(answers_.front());
    answers_.pop_front();
  }
  switch (answer.kind) {
    case 's':
      return;
    case 'r':
      return end(connection, true);
    case 'f':
      return end(connection, false);
    case 'd':
      connection.toSend = bytesOf(answer, arrival.request);
      return;
    case 'z':
      connection.streams = true;
      return send(connection, bytesOf(answer, arrival.request));
    default:
      break;
  }
  arrival.answered = now_;
  connection.strays |= answer.kind == 'p';
  send(connection, bytesOf(answer, arrival.request));
  if (answer.kind == 'c' || answer.kind == 'u' || answer.kind == 'h') end(connection, false);
}

void Service::drip() {
  if (silent_) return;
  for (const auto& one : connections_) {
    if (one->socket < 0 || one->arrivals.empty()) continue;
    if (one->streams) send(*one, "4000\r\n" + std::string(0x4000, 'z') + "\r\n");
    if (!one->toSend.empty()) {
      send(*one, one->toSend.substr(0, 1));
      one->toSend.erase(0, 1);
      std::size_t& answered = one->arrivals.back().answered;  // already set if nobody waits for it any more
      if (one->toSend.empty() && answered == 0) answered = now_;
    }
    const bool idle = one->arrivals.back().answered != 0 && one->arrivals.back().request.isWhole();
    if (one->strays && idle) {
      one->strays = false;
      send(*one, strayAnswer());
    }
  }
}

bool Service::hasToDrip() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& one) { return one->socket >= 0 && !one->toSend.empty(); });
}

/// If the proxy does not take the bytes at once, they are lost: nothing here may wait for it.
void Service::send(Connection& connection, const std::string& bytes) { (void)sendSome(connection.socket, bytes); }

void Service::end(Connection& connection, bool reset) {
  closeSocket(std::exchange(connection.socket, -1), reset);
  for (Arrival& one : connection.arrivals) {
    if (one.answered == 0) one.answered = now_;
  }
}

}  // namespace tenure::fuzz
