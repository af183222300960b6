#include "http_endpoint.hpp"

#include <array>
#include <charconv>
#include <condition_variable>
#include <netinet/in.h>
#include <set>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::aws::test {
namespace {

/// Requests in flight, so that all are answered when the client is destroyed.
class FakeClient final : public net::HttpClient {
 public:
  FakeClient(Responder responder, std::shared_ptr<RequestLog> log, std::shared_ptr<std::atomic<bool>> held)
      : state_{std::make_shared<State>()} {
    state_->responder = std::move(responder);
    state_->log = std::move(log);
    state_->held = std::move(held);
  }

  ~FakeClient() override {
    std::unique_lock lock{state_->mutex};
    state_->closed = true;
    state_->changed.notify_all();
    const std::size_t own = state_->workers.count(std::this_thread::get_id());
    state_->changed.wait(lock, [&] { return state_->workers.size() == own; });
  }

  void send(const net::Origin& origin, net::HttpRequest request, std::chrono::nanoseconds timeout,
            net::HttpHandler handler) override {
    const std::lock_guard lock{state_->mutex};
    std::thread worker{
        [state = state_, origin, request = std::move(request), timeout, handler = std::move(handler)]() mutable {
          serve(*state, origin, request, timeout, std::move(handler));
          const std::lock_guard done{state->mutex};
          state->workers.erase(std::this_thread::get_id());
          state->changed.notify_all();
        }};
    state_->workers.insert(worker.get_id());
    worker.detach();
  }

  std::shared_ptr<void> stream(const net::Origin& /*origin*/, net::HttpRequest /*request*/,
                               const net::StreamLimits& /*limits*/, net::StreamHandlers /*handlers*/) override {
    return nullptr;
  }

  void preconnect(const net::Origin& /*origin*/, std::size_t /*connections*/) override {}

 private:
  struct State {
    Responder responder;
    std::shared_ptr<RequestLog> log;
    std::shared_ptr<std::atomic<bool>> held;
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::thread::id> workers;
    bool closed{false};
  };

  static void serve(State& state, const net::Origin& origin, const net::HttpRequest& request,
                    std::chrono::nanoseconds timeout, net::HttpHandler handler) {
    if (state.log) state.log->add(origin, request, timeout);
    {
      std::unique_lock lock{state.mutex};
      const auto end = std::chrono::steady_clock::now() + timeout;
      while (state.held && *state.held && !state.closed && std::chrono::steady_clock::now() < end) {
        state.changed.wait_for(lock, std::chrono::milliseconds{2});
      }
      const bool late = std::chrono::steady_clock::now() >= end;
      if (state.closed || late) {
        lock.unlock();
        return handler(lost(late ? net::HttpError::Kind::timeout : net::HttpError::Kind::cancelled));
      }
    }
    handler(state.responder(origin, request));
    handler = nullptr;  // before this thread counts as ended: the handler may hold the last reference to the client
  }

  std::shared_ptr<State> state_;
};

bool readMore(int fd, std::string& buffer) {
  std::array<char, 8192> part{};
  const ssize_t got = recv(fd, part.data(), part.size(), 0);
  if (got <= 0) return false;
  buffer.append(part.data(), static_cast<std::size_t>(got));
  return true;
}

net::HttpRequest parseHead(std::string_view head) {
  net::HttpRequest out;
  const std::size_t lineEnd = head.find("\r\n");
  const std::string_view line = head.substr(0, lineEnd);
  const std::size_t space = line.find(' ');
  out.method = line.substr(0, space);
  out.target = line.substr(space + 1, line.rfind(' ') - space - 1);
  head.remove_prefix(lineEnd + 2);
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    const std::string_view field = head.substr(0, end);
    const std::size_t colon = field.find(':');
    std::string_view value = field.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    out.headers.push_back({std::string{field.substr(0, colon)}, std::string{value}});
    head.remove_prefix(end + 2);
  }
  return out;
}

bool readRequest(int fd, std::string& buffer, net::HttpRequest& request) {
  std::size_t end = std::string::npos;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!readMore(fd, buffer)) return false;
  }
  request = parseHead(std::string_view{buffer}.substr(0, end + 2));
  buffer.erase(0, end + 4);
  std::size_t length = 0;
  const std::string text = headerOf(request, "Content-Length");
  std::from_chars(text.data(), text.data() + text.size(), length);
  while (buffer.size() < length) {
    if (!readMore(fd, buffer)) return false;
  }
  request.body = buffer.substr(0, length);
  buffer.erase(0, length);
  return true;
}

bool writeReply(int fd, const net::HttpResponse& response) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " x\r\n";
  for (const auto& header : response.headers) text += header.name + ": " + header.value + "\r\n";
  text += "Content-Length: " + std::to_string(response.body.size()) + "\r\n\r\n" + response.body;
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

}  // namespace

net::HttpResponse reply(int status, std::string body, std::vector<net::HttpHeader> headers) {
  return {status, std::move(headers), std::move(body)};
}

net::HttpError lost(net::HttpError::Kind kind) {
  return {kind, kind != net::HttpError::Kind::connect, "lost on the way"};
}

std::string headerOf(const net::HttpRequest& request, const std::string& name) {
  for (const auto& header : request.headers) {
    if (sameText(header.name, name)) return header.value;
  }
  return {};
}

void RequestLog::add(const net::Origin& origin, const net::HttpRequest& request, std::chrono::nanoseconds timeout) {
  const std::lock_guard lock{mutex_};
  entries_.push_back({origin, request, timeout});
}

std::vector<RequestLog::Entry> RequestLog::all() const {
  const std::lock_guard lock{mutex_};
  return entries_;
}

std::size_t RequestLog::count() const {
  const std::lock_guard lock{mutex_};
  return entries_.size();
}

std::shared_ptr<net::HttpClient> fakeClient(Responder responder, std::shared_ptr<RequestLog> log,
                                            std::shared_ptr<std::atomic<bool>> held) {
  return std::make_shared<FakeClient>(std::move(responder), std::move(log), std::move(held));
}

struct LocalServer::Impl {
  explicit Impl(Responder with) : responder{std::move(with)}, listener{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener, generic, size) != 0 || listen(listener, 64) != 0 || getsockname(listener, generic, &size) != 0) {
      throw std::runtime_error("no local port");
    }
    port = ntohs(address.sin_port);
    acceptor = std::thread{[this] { acceptAll(); }};
  }

  ~Impl() {
    shutdown(listener, SHUT_RDWR);
    acceptor.join();
    {
      const std::lock_guard lock{mutex};
      for (const int fd : open) shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : threads) thread.join();
    close(listener);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void acceptAll() {
    for (;;) {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const std::lock_guard lock{mutex};
      open.insert(fd);
      threads.emplace_back([this, fd] { serve(fd); });
    }
  }

  void serve(int fd) {
    std::string buffer;
    net::HttpRequest request;
    while (readRequest(fd, buffer, request)) {
      const net::HttpOutcome outcome = responder({false, "127.0.0.1", port}, request);
      if (!outcome || !writeReply(fd, *outcome)) break;
    }
    const std::lock_guard lock{mutex};
    open.erase(fd);
    close(fd);
  }

  Responder responder;
  int listener{-1};
  std::uint16_t port{0};
  std::mutex mutex;
  std::set<int> open;
  std::vector<std::thread> threads;
  std::thread acceptor;
};

LocalServer::LocalServer(Responder responder) : impl_{std::make_unique<Impl>(std::move(responder))} {}
LocalServer::~LocalServer() = default;
std::string LocalServer::url() const { return "http://127.0.0.1:" + std::to_string(impl_->port); }

}  // namespace tenure::aws::test
