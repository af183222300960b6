#include "connection/world.hpp"

#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>

#include "connection/memory_use.hpp"
#include "connection/moved_clock.hpp"
#include "fuzz_support.hpp"

namespace tenure::fuzz {
namespace {

namespace proxy = gateway;
using namespace std::chrono_literals;

constexpr std::size_t mostConnections = 24;
constexpr auto mostDrain = 8s;  // different from the other time-outs, so that no other ends at the same time
/// What the proxy may need for mostClients clients, with their answers and requests.
constexpr std::size_t mostHeapBytes = 1U << 20U;

}  // namespace

FreshFence::FreshFence(const std::string& memory, bool withKeys, bool refusesWithoutToken) {
  HttpFenceOptions options;
  options.leases = {std::string{lease}};
  options.memory = memory;
  if (withKeys) options.keys = {{std::string{keyId}, keySecret()}};
  options.audience = audience;
  if (refusesWithoutToken) options.withoutToken = WithoutToken::refuse;
  options.afterCrash = 0ms;
  const auto listen = [count = told](LogLevel, std::string_view line) {
    constexpr std::string_view name = ": token ";
    const std::size_t at = line.find(name);
    if (at != std::string_view::npos) {
      *count = std::strtoull(std::string{line.substr(at + name.size())}.c_str(), nullptr, 10);
    }
  };
  auto opened = HttpFence::open(std::move(options), Logger{LogLevel::info, listen});
  require(opened.has_value(), "a fence can be opened");
  fence = std::move(*opened);
}

/// The fence logs for each token when it is on the disk.
bool FreshFence::isStoring() const {
  const auto highest = fence->highestSeen(std::string{lease});
  return highest && highest->token.value() != *told;
}

World::World(const Script& script, HttpFence& fence, const std::function<bool()>& isStoring, Service& service,
             Listening listening)
    : settings_{.listen = {},
                .upstream = {"127.0.0.1", service.port()},
                .limits = {.connections = 6, .signedBodyBytes = 2'000, .drain = mostDrain},
                .readsBodies = script.withKeys},
      fence_{fence},
      isStoring_{isStoring},
      shared_{io_.get_executor(), settings_, fence_, Logger{}, counts_},
      table_{settings_.limits.connections},
      service_{service},
      listening_{listening},
      heapBefore_{heapBytes()} {
  service_.reset(script.answers);
}

World::~World() {
  for (const auto& one : clients_) {
    if (one->socket >= 0) closeSocket(one->socket, true);
  }
}

void World::play(const Script& script) {
  for (const Step& step : script.steps) take(step);
  settle();
}

void World::take(const Step& step) {
  switch (step.kind) {
    case Step::Kind::settle:
      return settle();
    case Step::Kind::pass:
      return pass(step.time);
    case Step::Kind::run:
      for (std::size_t left = step.steps; left > 0; --left) (void)turn();
      return;
    case Step::Kind::send:
      break;
    default: {
      Client& client = clientOf(step.client);
      client.afterwards = step.kind;
      (void)this->step(client);
      return;
    }
  }
  Client& client = clientOf(step.client);
  client.toSend += step.bytes;
  (void)this->step(client);
}

World::Client& World::clientOf(std::size_t index) {
  Client*& current = current_[index];
  const bool open =
      current != nullptr && current->socket >= 0 && !current->ended && current->afterwards == Step::Kind::settle;
  if (open || (current != nullptr && clients_.size() >= mostConnections)) return *current;
  clients_.push_back(std::make_unique<Client>());
  current = clients_.back().get();
  current->socket = connectTo(listening_.port);
  accept(acceptFrom(listening_.socket), index);
  return *current;
}

/// As the proxy does it.
void World::accept(int socket, std::size_t index) {
  require(socket >= 0, "who has connected can be accepted");
  proxy::Stream::socket_type made{io_};
  made.assign(proxy::tcp::v4(), socket);
  const std::string group = std::to_string(index % 2);
  if (!table_.makeRoom(group)) return;
  const std::string name = "client " + std::to_string(index);
  const auto session = std::make_shared<proxy::Session>(proxy::Stream{std::move(made)}, shared_, name, group);
  table_.add(session, group);
  proxy::asio::co_spawn(io_, session->run(), [this, session](const std::exception_ptr& thrown) {
    require(!thrown, "no connection ends by an exception");
    table_.remove(session);
  });
}

bool World::step(Client& client) {
  if (client.socket < 0) return false;
  const std::size_t sent = client.toSend.empty() ? 0 : sendSome(client.socket, client.toSend);
  client.talk.sent.append(client.toSend, 0, sent);
  client.toSend.erase(0, sent);
  if (client.toSend.empty()) finish(client, client.afterwards);
  if (client.socket < 0 || client.ended) return sent > 0;
  return receiveSome(client.socket, client.talk.got, client.ended) || sent > 0;
}

void World::finish(Client& client, Step::Kind how) {
  if (how == Step::Kind::halfClose) (void)::shutdown(client.socket, SHUT_WR);
  if (how != Step::Kind::reset && how != Step::Kind::close) return;
  closeSocket(client.socket, how == Step::Kind::reset);
  client.socket = -1;
}

/// One step of the proxy, and the reactions of the others. True if anything has happened.
bool World::turn() {
  io_.restart();
  bool moved = io_.poll_one() > 0;
  watched_.clear();
  service_.watch(watched_);
  bool sends = false;
  for (const auto& one : clients_) {
    if (one->socket >= 0 && !one->ended) watched_.push_back(one->socket);
    sends |= one->socket >= 0 && !one->toSend.empty();
  }
  if (!sends && !isAnyReady(watched_)) return moved;
  moved |= service_.step();
  for (const auto& one : clients_) moved |= step(*one);
  return moved;
}

void World::settle() {
  bool wasStoring = false;
  int patience = 5'000;  // each is at least an idle millisecond
  for (;;) {
    if (turn()) continue;
    const bool storing = isStoring_();
    if (!storing && !wasStoring) break;
    // The thread of the fence's memory makes a separate call for that, soon after its log line.
    io_.restart();
    (void)io_.run_one_for(storing ? 20ms : 1ms);
    require(--patience > 0, "the fence says of each token that it is stored");
    wasStoring = storing;
  }
  service_.drip();
  while (turn()) {
  }
  boundsHold();
}

/// The kernel wakes no thread for a clock that was moved. An expired timer makes the loop check the other timers.
void World::pass(std::chrono::milliseconds time) {
  settle();
  moveClock(time);
  proxy::Timer over{io_.get_executor(), std::chrono::steady_clock::time_point{}};
  over.async_wait([](const proxy::error_code&) {});
  settle();
}

void World::runOut() {
  for (int drops = 0; drops < 100 && service_.hasToDrip(); ++drops) settle();
  service_.fallSilent();
  std::size_t requests = 0;
  for (const auto& one : clients_) {
    for (std::size_t at = 0; (at = one->talk.sent.find("HTTP/1", at)) != std::string::npos; ++at) ++requests;
  }
  // A request may wait for the one before it, for its body, for the service and for the drain of the service's
  // connection.
  std::size_t pauses = 6 + 6 * requests;
  for (; !table_.empty() && pauses > 0; --pauses) pass(31s);
  require(table_.empty(), "each connection ends in its time");
  shared_.upstream.close();
  settle();
}

void World::serveOneMore(std::set<Signed>& signatures) {
  const auto highest = fence_.highestSeen(std::string{lease});
  const unsigned long long token = highest ? highest->token.value() + 1 : 1;
  if (token > maxFencingToken.value()) return;
  service_.reset({});
  Client& client = clientOf(mostClients);
  client.toSend = "PUT /after HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" +
                  signedLines(token, "PUT", "/after", "x", signatures) + "Content-Length: 1\r\n\r\nx";
  settle();
  // On a busy machine the memory's thread may pause between its log line and the call that lets the request pass.
  for (int patience = 5'000; client.talk.got.empty() && patience > 0; --patience) {
    io_.restart();
    (void)io_.run_one_for(1ms);
    settle();
  }
  require(client.talk.got.starts_with("HTTP/1.1 200 "), "who behaves is served, whatever came before");
  pass(2s);
  require(table_.empty(), "a connection that is done with ends");
}

std::vector<Talk> World::talks() const {
  std::vector<Talk> out;
  for (const auto& one : clients_) out.push_back(one->talk);
  return out;
}

void World::boundsHold() const {
  std::size_t ours = service_.keptBytes();
  for (const auto& one : clients_)
    ours += one->toSend.capacity() + one->talk.sent.capacity() + one->talk.got.capacity();
  require(heapBytes() < heapBefore_ + mostHeapBytes + 3 * ours, "the proxy needs no more memory the more is sent");
}

}  // namespace tenure::fuzz
