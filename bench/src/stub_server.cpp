#include "stub_server.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <map>
#include <netinet/tcp.h>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "tests/aws/fake_table.hpp"

namespace tenure::bench {
namespace {

using std::chrono::nanoseconds;

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(fmt::format("stub server: {}: errno {}", what, errno));
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

int connectTo(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  require(fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "connect");
  return fd;
}

/// Empty: the head is not complete yet.
std::optional<std::size_t> lengthOfMessage(std::string_view text) {
  const std::size_t head = text.find("\r\n\r\n");
  if (head == std::string_view::npos) return std::nullopt;
  constexpr std::string_view name = "\r\nContent-Length: ";
  const std::size_t at = text.find(name);
  const std::size_t body = at < head ? std::stoul(std::string{text.substr(at + name.size(), 12)}) : 0;
  return head + 4 + body;
}

bool isWhole(std::string_view text) {
  const auto length = lengthOfMessage(text);
  return length && text.size() >= *length;
}

std::string get(std::uint16_t port, std::string_view path) {
  const int fd = connectTo(port);
  const std::string request = fmt::format("GET {} HTTP/1.1\r\n\r\n", path);
  require(write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size()), "write");
  std::string reply;
  std::array<char, 4096> chunk{};
  while (!isWhole(reply)) {
    const ssize_t got = read(fd, chunk.data(), chunk.size());
    require(got > 0, "read");
    reply.append(chunk.data(), static_cast<std::size_t>(got));
  }
  close(fd);
  return reply.substr(reply.find("\r\n\r\n") + 4);
}

std::string replyWith(std::string_view body, std::string_view status = "200 OK") {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: stub\r\n"
      "Content-Length: {}\r\n\r\n{}",
      status, body.size(), body);
}

/// The value of X-Amz-Target; empty: the request is not for DynamoDB.
std::string_view targetIn(std::string_view head) {
  const std::size_t at = head.find("DynamoDB_20120810.");
  return at == std::string_view::npos ? std::string_view{} : head.substr(at, head.find("\r\n", at) - at);
}

/// One thread serves any number of kept-alive connections.
class Server {
 public:
  explicit Server(nanoseconds delay) : delay_{delay} {
    require(listener_ >= 0, "socket");
    sockaddr_in address = loopback(0);
    require(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
    require(listen(listener_, 4096) == 0, "listen");
    socklen_t length = sizeof address;
    require(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) == 0, "getsockname");
    port_ = ntohs(address.sin_port);
    watch(listener_);
    watch(STDIN_FILENO);
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  void run() {
    for (;;) {
      std::array<epoll_event, 256> events{};
      const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), untilDue());
      for (int i = 0; i < count; ++i) {
        const int fd = events.at(static_cast<std::size_t>(i)).data.fd;
        if (fd == STDIN_FILENO) return;
        if (fd == listener_) {
          acceptAll();
        } else {
          receive(fd);
        }
      }
      answerDue();
    }
  }

 private:
  struct Due {
    Instant received;
    int connection;
    std::uint64_t generation;
    std::string reply;
  };
  struct Connection {
    std::uint64_t generation;
    std::string input;
  };

  void watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    require(epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
  }

  void acceptAll() {
    for (int fd = 0; (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      connections_[fd] = {++generation_, {}};
      watch(fd);
    }
  }

  void receive(int fd) {
    std::array<char, 16'384> chunk{};
    const ssize_t got = read(fd, chunk.data(), chunk.size());
    if (got <= 0) {
      if (got < 0 && errno == EAGAIN) return;
      connections_.erase(fd);
      close(fd);
      return;
    }
    Connection& connection = connections_.at(fd);
    connection.input.append(chunk.data(), static_cast<std::size_t>(got));
    while (auto reply = takeRequest(connection.input)) {
      due_.push_back({readClock(), fd, connection.generation, *std::move(reply)});
    }
  }

  /// Takes one whole request from the front; empty: it has not arrived in full.
  [[nodiscard]] std::optional<std::string> takeRequest(std::string& input) {
    const auto length = lengthOfMessage(input);
    if (!length || input.size() < *length) return std::nullopt;
    std::string reply = replyTo(std::string_view{input}.substr(0, *length));
    input.erase(0, *length);
    return reply;
  }

  [[nodiscard]] std::string replyTo(std::string_view request) {
    const std::string_view head = request.substr(0, request.find("\r\n\r\n"));
    if (head.starts_with("GET ")) return replyWith(head.starts_with("GET /first ") ? first_ : std::to_string(updates_));
    const std::string_view target = targetIn(head);
    if (target.empty()) return replyWith("{}");
    const net::HttpResponse answer = table_.answer(target, request.substr(head.size() + 4));
    std::string reply = replyWith(answer.body, answer.status == 200 ? "200 OK" : "400 Bad Request");
    if (!target.ends_with(".UpdateItem")) return reply;
    if (updates_++ == 0) {
      first_ = request;
      replyToFirst_ = reply;
    }
    // The bare posts are copies of the first. By now the table refuses them; they cost the same as if it did not.
    return request == first_ ? replyToFirst_ : reply;
  }

  [[nodiscard]] int untilDue() const {
    if (due_.empty()) return -1;
    const nanoseconds left = delay_ - elapsedForHolder(due_.front().received, readClock());
    return left.count() <= 0 ? 0 : static_cast<int>(left / std::chrono::milliseconds{1}) + 1;
  }

  void answerDue() {
    const Instant now = readClock();
    while (!due_.empty() && elapsedForHolder(due_.front().received, now) >= delay_) {
      const Due due = std::move(due_.front());
      due_.pop_front();
      const auto found = connections_.find(due.connection);
      if (found == connections_.end() || found->second.generation != due.generation) continue;
      [[maybe_unused]] const ssize_t sent = write(due.connection, due.reply.data(), due.reply.size());
    }
  }

  const nanoseconds delay_;
  const int poll_{epoll_create1(EPOLL_CLOEXEC)};
  aws::test::FakeTable table_{};
  std::string first_{};
  std::string replyToFirst_{};
  const int listener_{socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  std::uint16_t port_{0};
  std::int64_t updates_{0};
  std::uint64_t generation_{0};
  std::map<int, Connection> connections_{};
  std::deque<Due> due_{};
};

}  // namespace

int runStubServer(const std::vector<std::string>& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  Server server{std::chrono::milliseconds{std::stoi(arguments.at(0))}};
  fmt::print("{}\n", server.port());
  std::fflush(stdout);
  server.run();
  return 0;
}

StubServer::StubServer(std::chrono::milliseconds delay) : StubServer{start(delay)} {}

StubServer::Running StubServer::start(std::chrono::milliseconds delay) {
  std::array<int, 2> toChild{};
  std::array<int, 2> fromChild{};
  require(pipe2(toChild.data(), O_CLOEXEC) == 0 && pipe2(fromChild.data(), O_CLOEXEC) == 0, "pipe2");
  const std::string delayText = std::to_string(delay.count());
  const pid_t process = fork();
  require(process >= 0, "fork");
  if (process == 0) {
    dup2(toChild[0], STDIN_FILENO);
    dup2(fromChild[1], STDOUT_FILENO);
    execl("/proc/self/exe", "tenure-bench", "stub-server", delayText.c_str(), nullptr);
    _exit(127);
  }
  close(toChild[0]);
  close(fromChild[1]);
  std::array<char, 16> line{};
  const ssize_t got = read(fromChild[0], line.data(), line.size() - 1);
  close(fromChild[0]);
  require(got > 0, "the server did not start");
  return {process, toChild[1], static_cast<std::uint16_t>(std::stoi(line.data()))};
}

StubServer::~StubServer() {
  close(running_.lifeline);
  waitpid(running_.process, nullptr, 0);
}

std::string StubServer::endpoint() const { return fmt::format("http://127.0.0.1:{}", running_.port); }

std::shared_ptr<LeaseStore> StubServer::store() const {
  // The credentials of the user who runs the bench are not used.
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) ::setenv(name, "bench", 1);
  for (const char* name : {"AWS_SESSION_TOKEN", "AWS_PROFILE", "HTTP_PROXY", "http_proxy"}) ::unsetenv(name);
  DynamoDbStoreOptions options;
  options.table = "locks";
  options.region = "eu-central-1";
  options.endpoint = endpoint();
  return makeDynamoDbStore(options);
}

std::int64_t StubServer::updates() const { return std::stoll(get(running_.port, "/count")); }
std::string StubServer::firstUpdate() const { return get(running_.port, "/first"); }

}  // namespace tenure::bench
