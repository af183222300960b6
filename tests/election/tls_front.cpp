#include "election/tls_front.hpp"

#include <future>
#include <sys/socket.h>
#include <utility>

namespace tenure::test {
namespace {

std::string headerOf(const std::string& request, const std::string& name) {
  const auto at = request.find(name + ": ");
  if (at == std::string::npos) return {};
  const auto begin = at + name.size() + 2;
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

}  // namespace

TlsFront::TlsFront(std::shared_ptr<aws::JsonClient> behind) : behind_{std::move(behind)} {
  server_ = std::make_unique<TestServer>(
      [this](Peer& peer) { serve(peer); },
      TestServer::Options{.identity = authority_.issue({"IP:127.0.0.1"}), .scriptStartsTls = true});
}

void TlsFront::answerHandshakes() {
  stalls_ = false;
  server_->present(authority_.issue({"IP:127.0.0.1"}));
}

void TlsFront::serve(Peer& peer) {
  if (stalls_.load()) return peer.waitForEnd();
  if (!peer.startTls()) return;
  const int fd = peer.fd();
  {
    const std::lock_guard lock{mutex_};
    standing_.insert(fd);
  }
  for (;;) {
    const std::string request = peer.readRequest();
    if (request.empty() || cutNext_.exchange(false)) break;
    {
      std::unique_lock lock{mutex_};
      lastUsed_ = fd;
      const bool keeps = !keeps_.empty() && request.find(keeps_) != std::string::npos;
      if (keeps) ++kept_;
      if (keeps) answersAll_.wait(lock, [this] { return keeps_.empty(); });
    }
    if (!peer.write(answer(request))) break;
    ++served_;
  }
  const std::lock_guard lock{mutex_};
  standing_.erase(fd);
}

std::string TlsFront::answer(const std::string& request) {
  auto told = std::make_shared<std::promise<aws::JsonOutcome>>();
  behind_->call(headerOf(request, "X-Amz-Target"), request.substr(request.find("\r\n\r\n") + 4),
                std::chrono::seconds{10}, [told](aws::JsonOutcome outcome) { told->set_value(std::move(outcome)); });
  const aws::JsonOutcome outcome = told->get_future().get();
  const int status = outcome ? outcome->status : 503;
  const std::string body = outcome ? outcome->body : "{}";
  return "HTTP/1.1 " + std::to_string(status) +
         " Answer\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::size_t TlsFront::standing() const {
  const std::lock_guard lock{mutex_};
  return standing_.size();
}

void TlsFront::cutLastUsed() {
  const std::lock_guard lock{mutex_};
  if (standing_.contains(lastUsed_)) shutdown(lastUsed_, SHUT_RDWR);
}

void TlsFront::keepWaiting(std::string text) {
  const std::lock_guard lock{mutex_};
  keeps_ = std::move(text);
}

void TlsFront::answerAll() {
  keepWaiting({});
  answersAll_.notify_all();
}

void TlsFront::cutAll() {
  const std::lock_guard lock{mutex_};
  for (const int fd : standing_) shutdown(fd, SHUT_RDWR);
}

}  // namespace tenure::test
