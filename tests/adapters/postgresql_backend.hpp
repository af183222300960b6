// A server that speaks as much of PostgreSQL's protocol as a fence needs, and gives the answers that a test defines.
#pragma once

#include <arpa/inet.h>
#include <functional>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tenure::test {

/// One answer of the server to one statement.
struct PostgresqlAnswer {
  std::vector<std::string> columns{};  ///< of its rows; empty: it has none
  std::vector<std::vector<std::string>> rows{};
  std::string tag{};  ///< "SELECT 1"
};

/// Serves one connection, on a thread.
class PostgresqlBackend {
 public:
  /// The answers to the statements in one request, and the state after it: I (idle) or T (in a transaction).
  struct Reply {
    std::vector<PostgresqlAnswer> answers;
    char state{'T'};
  };
  using Script = std::function<Reply(const std::string& sql)>;

  explicit PostgresqlBackend(Script script) : script_{std::move(script)} {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, any, size) != 0 || listen(listener_, 1) != 0 || getsockname(listener_, any, &size) != 0) {
      throw std::runtime_error{"no socket for a PostgreSQL backend"};
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { serve(); }};
  }
  ~PostgresqlBackend() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  PostgresqlBackend(const PostgresqlBackend&) = delete;
  PostgresqlBackend& operator=(const PostgresqlBackend&) = delete;

  [[nodiscard]] std::string conninfo() const {
    return "host=127.0.0.1 sslmode=disable gssencmode=disable user=u dbname=d port=" + std::to_string(port_);
  }

 private:
  static std::string number(std::uint32_t value) {
    const std::uint32_t big = htonl(value);
    return {reinterpret_cast<const char*>(&big), sizeof big};
  }
  static std::string number16(std::size_t value) {
    const std::uint16_t big = htons(static_cast<std::uint16_t>(value));
    return {reinterpret_cast<const char*>(&big), sizeof big};
  }
  static std::string message(char type, const std::string& body) {
    return type + number(static_cast<std::uint32_t>(body.size() + 4)) + body;
  }
  static std::string bytesOf(const PostgresqlAnswer& answer) {
    std::string out;
    if (!answer.columns.empty()) {
      std::string body = number16(answer.columns.size());
      for (const std::string& name : answer.columns) {
        body +=
            name + '\0' + number(0) + number16(0) + number(25) + number16(0xFFFF) + number(0xFFFFFFFF) + number16(0);
      }
      out += message('T', body);
    }
    for (const auto& row : answer.rows) {
      std::string body = number16(row.size());
      for (const std::string& value : row) body += number(static_cast<std::uint32_t>(value.size())) + value;
      out += message('D', body);
    }
    return out + message('C', answer.tag + '\0');
  }

  static bool readAll(int fd, std::string& out, std::size_t size) {
    out.resize(size);
    return size == 0 || recv(fd, out.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  static std::size_t lengthIn(const std::string& four) {
    std::uint32_t big = 0;
    four.copy(reinterpret_cast<char*>(&big), sizeof big);
    return ntohl(big) - sizeof big;
  }

  void serve() {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    std::string text;
    const bool started = readAll(fd, text, 4) && readAll(fd, text, lengthIn(text));
    std::string out = message('R', number(0)) + message('S', std::string{"client_encoding\0UTF8\0", 21}) +
                      message('S', std::string{"server_version\0"
                                               "15.0\0",
                                               20}) +
                      message('Z', "I");
    while (started && send(fd, out.data(), out.size(), MSG_NOSIGNAL) >= 0) {
      if (!readAll(fd, text, 5) || text[0] != 'Q' || !readAll(fd, text, lengthIn(text.substr(1)))) break;
      const Reply reply = script_(text);
      out.clear();
      for (const PostgresqlAnswer& answer : reply.answers) out += bytesOf(answer);
      out += message('Z', std::string{reply.state});
    }
    close(fd);
  }

  const Script script_;
  int listener_{-1};
  unsigned port_{0};
  std::thread thread_{};
};

}  // namespace tenure::test
