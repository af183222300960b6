// The proxy of `tenure fence proxy` between clients and a service that follow a script, all on one thread. So the
// script decides the order of events, and after each step of the proxy the service receives what has arrived.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/adapters/http_fence.hpp>

#include "adapters/gateway/proxy/client_table.hpp"
#include "connection/judge.hpp"
#include "connection/script.hpp"
#include "connection/service.hpp"
#include "connection/sockets.hpp"

namespace tenure::fuzz {

/// A fence with its own memory, and what it has stored of it.
struct FreshFence {
  FreshFence(const std::string& memory, bool withKeys, bool refusesWithoutToken);

  [[nodiscard]] bool isStoring() const;
  [[nodiscard]] bool isUnused() const { return !fence->highestSeen(std::string{lease}).has_value(); }

  std::shared_ptr<std::atomic<unsigned long long>> told{std::make_shared<std::atomic<unsigned long long>>(0)};
  std::unique_ptr<HttpFence> fence;
};

class World {
 public:
  World(const Script& script, HttpFence& fence, const std::function<bool()>& isStoring, Service& service,
        Listening listening);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void play(const Script& script);
  /// Nobody sends anything any more: each connection ends by its time-outs.
  void runOut();
  /// A client that behaves correctly is served, whatever came before.
  void serveOneMore(std::set<Signed>& signatures);
  [[nodiscard]] std::vector<Talk> talks() const;

 private:
  struct Client {
    int socket{-1};
    Talk talk{};
    std::string toSend{};
    Step::Kind afterwards{Step::Kind::settle};  ///< how the client ends when everything is sent
    bool ended{false};
  };

  void take(const Step& step);
  Client& clientOf(std::size_t index);
  void accept(int socket, std::size_t index);
  bool step(Client& client);
  void finish(Client& client, Step::Kind how);
  bool turn();
  void settle();
  void pass(std::chrono::milliseconds time);
  void boundsHold() const;

  gateway::Settings settings_{};
  gateway::asio::io_context io_{1};
  HttpFence& fence_;
  const std::function<bool()> isStoring_;
  gateway::ProxyCounts counts_{};
  gateway::Shared shared_;
  gateway::ClientTable table_;
  Service& service_;
  const Listening listening_;
  std::vector<std::unique_ptr<Client>> clients_{};  ///< of all connections of the run
  std::array<Client*, mostClients + 1> current_{};  ///< the current ones among them, by the script's numbers
  std::vector<int> watched_{};
  const std::size_t heapBefore_;
};

}  // namespace tenure::fuzz
