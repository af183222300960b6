#include "stores/dynamodb/socket_client.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <netdb.h>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/aws/make_json_client.hpp"
#include "lockcore/port/ascii_text.hpp"

namespace tenure::test {
namespace {

struct Call {
  std::string target;
  std::string body;
  std::chrono::nanoseconds timeout;
  Instant start;
  aws::JsonHandler handler;

  [[nodiscard]] std::chrono::nanoseconds left() const { return timeout - elapsedForHolder(start, readClock()); }
  void fail(const std::string& why, bool maybeSent) const {
    handler(aws::JsonCallError{{ErrorClass::transient, why}, maybeSent});
  }
};

/// A blocking connection that is opened when it is needed.
class Connection {
 public:
  Connection(std::string host, std::string port) : host_{std::move(host)}, port_{std::move(port)} {}
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void serve(const Call& call) {
    if (call.left().count() <= 0) return call.fail("no time", false);
    if (descriptor_ < 0 && !open()) return call.fail("cannot connect to " + host_ + ':' + port_, false);
    limit(call.left());
    if (!writeAll(request(call))) return close(), call.fail("the request could not be sent", true);
    aws::JsonReply reply;
    if (!readReply(reply)) return close(), call.fail("there was no answer in time", true);
    call.handler(std::move(reply));
  }

 private:
  [[nodiscard]] std::string request(const Call& call) const {
    return "POST / HTTP/1.1\r\nHost: " + host_ + ':' + port_ + "\r\nX-Amz-Target: " + call.target +
           "\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"
           "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, "
           "SignedHeaders=host, Signature=0\r\nContent-Length: " +
           std::to_string(call.body.size()) + "\r\n\r\n" + call.body;
  }

  bool open() {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host_.c_str(), port_.c_str(), &hints, &found) != 0) return false;
    descriptor_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected = descriptor_ >= 0 && connect(descriptor_, found->ai_addr, found->ai_addrlen) == 0;
    freeaddrinfo(found);
    if (!connected) close();
    return connected;
  }

  void limit(std::chrono::nanoseconds left) const {
    const auto micros = std::max<long>(1, std::chrono::duration_cast<std::chrono::microseconds>(left).count());
    const timeval limit{micros / 1'000'000, micros % 1'000'000};
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }

  [[nodiscard]] bool writeAll(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = send(descriptor_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return true;
  }

  [[nodiscard]] bool readMore(std::string& text) const {
    char buffer[16'384];
    const ssize_t count = recv(descriptor_, buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    text.append(buffer, static_cast<std::size_t>(count));
    return true;
  }

  [[nodiscard]] bool readReply(aws::JsonReply& reply) const {
    std::string text;
    std::size_t head = std::string::npos;
    while ((head = text.find("\r\n\r\n")) == std::string::npos) {
      if (!readMore(text)) return false;
    }
    reply.status = std::stoi(text.substr(text.find(' ') + 1));
    const std::string lower = lowered(text.substr(0, head));
    const std::size_t length = lower.find("content-length:");
    if (length == std::string::npos) return false;
    const std::size_t size = std::stoul(lower.substr(length + 15));
    while (text.size() < head + 4 + size) {
      if (!readMore(text)) return false;
    }
    reply.body = text.substr(head + 4, size);
    return true;
  }

  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

  const std::string host_;
  const std::string port_;
  int descriptor_{-1};
};

/// Shared with the threads, which may outlive the client: the last handler may destroy the client.
struct Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Call> calls;
  bool closed{false};
};

void serveCalls(const std::shared_ptr<Queue>& queue, const std::string& host, const std::string& port) {
  Connection connection{host, port};
  std::unique_lock lock{queue->mutex};
  for (;;) {
    queue->changed.wait(lock, [&] { return queue->closed || !queue->calls.empty(); });
    if (queue->calls.empty()) return;
    Call call = std::move(queue->calls.front());
    queue->calls.pop_front();
    const bool closed = queue->closed;
    lock.unlock();
    if (closed) {
      call.fail("the client was closed", false);
    } else {
      connection.serve(call);
    }
    call.handler = nullptr;
    lock.lock();
  }
}

class SocketClient final : public aws::JsonClient {
 public:
  SocketClient(std::string host, std::string port) : host_{std::move(host)}, port_{std::move(port)} {
    constexpr int threads = 4;
    for (int i = 0; i < threads; ++i) {
      std::thread{[queue = queue_, host = host_, port = port_] { serveCalls(queue, host, port); }}.detach();
    }
  }
  ~SocketClient() override {
    const std::lock_guard lock{queue_->mutex};
    queue_->closed = true;
    queue_->changed.notify_all();
  }
  SocketClient(const SocketClient&) = delete;
  SocketClient& operator=(const SocketClient&) = delete;

  void call(std::string target, std::string body, std::chrono::nanoseconds timeout, aws::JsonHandler handler) override {
    const std::lock_guard lock{queue_->mutex};
    queue_->calls.push_back({std::move(target), std::move(body), timeout, readClock(), std::move(handler)});
    queue_->changed.notify_one();
  }

  [[nodiscard]] std::string describe() const override { return "http://" + host_ + ':' + port_; }

 private:
  const std::string host_;
  const std::string port_;
  const std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

}  // namespace

std::shared_ptr<aws::JsonClient> makeSocketClient(const std::string& endpoint) {
  if (endpoint.rfind("https://", 0) == 0) {
    aws::JsonClientOptions options;
    options.endpoint = endpoint;
    return aws::makeJsonClient(std::move(options));
  }
  const std::string rest = endpoint.substr(endpoint.find("://") + 3);
  const std::size_t colon = rest.rfind(':');
  std::string port = rest.substr(colon + 1);
  return std::make_shared<SocketClient>(rest.substr(0, colon), port.substr(0, port.find('/')));
}

std::string callNow(aws::JsonClient& client, const std::string& operation, std::string body) {
  auto done = std::make_shared<std::promise<aws::JsonOutcome>>();
  auto outcome = done->get_future();
  client.call("DynamoDB_20120810." + operation, std::move(body), std::chrono::seconds{30},
              [done](aws::JsonOutcome answer) { done->set_value(std::move(answer)); });
  const aws::JsonOutcome answer = outcome.get();
  if (answer.has_error()) throw std::runtime_error{operation + ": " + answer.error().error.message};
  if (answer->status != 200) throw std::runtime_error{operation + ": " + answer->body};
  return boost::json::serialize(boost::json::parse(answer->body));
}

}  // namespace tenure::test
