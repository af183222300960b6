#include "connection/script.hpp"

#include <algorithm>
#include <utility>

#include <tenure/adapters/http_fence.hpp>

namespace tenure::fuzz {
namespace {

using std::chrono::milliseconds;

/// Each is longer than one of the proxy's time-outs, or shorter than all of them.
constexpr std::array<milliseconds, 7> pauses{milliseconds{1},     milliseconds{500},    milliseconds{2'000},
                                             milliseconds{6'000}, milliseconds{11'000}, milliseconds{31'000},
                                             milliseconds{61'000}};

constexpr std::string_view hidden = "POST /hidden HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";

std::string bodyOf(std::size_t number) {
  switch (number % 7) {
    case 0:
      return {};
    case 1:
      return "x";
    case 2:
      return "abc";
    case 3:
      return std::string{hidden};
    case 4:
      return std::string(600, 'b');
    case 5:
      return std::string(2'500, 'z');  // more than the proxy stores of a signed one
    default:
      return "0\r\n\r\n" + std::string{hidden};
  }
}

std::string chunked(const std::string& body) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "Transfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t size = std::min<std::size_t>(at == 0 ? 1 : 15, body.size() - at);
    out += std::string{digits[size]} + "\r\n" + body.substr(at, size) + "\r\n";
    at += size;
  }
  return out + "0\r\n\r\n";
}

class Reader {
 public:
  explicit Reader(std::string_view input) : left_{input} {}

  Script read() {
    while (!left_.empty()) {
      const char c = take();
      if (c == '~') {
        directive(take());
      } else {
        send(std::string(1, c));
      }
    }
    return std::move(script_);
  }

 private:
  char take() {
    if (left_.empty()) return '0';
    const char c = left_.front();
    left_.remove_prefix(1);
    return c;
  }
  std::size_t number() { return static_cast<std::size_t>(static_cast<unsigned char>(take()) - '0') & 0xFFU; }

  void send(const std::string& bytes) {
    if (sent_ + bytes.size() > mostSentBytes) return;
    sent_ += bytes.size();
    const bool more = !script_.steps.empty() && script_.steps.back().kind == Step::Kind::send &&
                      script_.steps.back().client == client_;
    if (!more) script_.steps.push_back({Step::Kind::send, client_, {}});
    script_.steps.back().bytes += bytes;
  }
  void step(Step::Kind kind) { script_.steps.push_back({kind, client_, {}}); }

  void request(const char* method, const char* version = "1.1") {
    method_ = method;
    target_ = '/' + std::to_string(client_);
    send(method_ + ' ' + target_ + " HTTP/" + version + "\r\n");
    if (version[2] == '1') send("Host: h\r\n");
  }

  void directive(char c) {
    if (c >= '0' && c < '0' + static_cast<char>(mostClients)) {
      client_ = static_cast<std::size_t>(c - '0');
      return;
    }
    switch (c) {
      case '|':
        return step(Step::Kind::settle);
      case 'h':
        return step(Step::Kind::halfClose);
      case 'r':
        return step(Step::Kind::reset);
      case 'x':
        return step(Step::Kind::close);
      case ',':
        step(Step::Kind::run);
        script_.steps.back().steps = std::size_t{1} << (number() % 6);
        return;
      case 't':
        step(Step::Kind::pass);
        script_.steps.back().time = pauses[number() % pauses.size()];
        return;
      case 'a':
        return script_.answers.push_back({take(), {}});
      case 'A':
        return rawAnswer();
      case '!':
        return setting(take());
      default:
        return send(textOf(c));
    }
  }

  /// The bytes that are sent for a directive.
  std::string textOf(char c) {
    switch (c) {
      case 'P':
        return request("POST"), "";
      case 'U':
        return request("PUT"), "";
      case 'D':
        return request("DELETE"), "";
      case 'G':
        return request("GET"), "";
      case 'E':
        return request("HEAD"), "";
      case 'O':
        return request("OPTIONS"), "";
      case 'Q':
        return request("GET", "1.0"), "";
      case 'T':
        return "Fencing-Token: " + std::string{lease} + '=' + std::to_string(number()) + "\r\n";
      case 'S': {
        const std::size_t token = number();
        return signedLines(token, method_, target_, bodyOf(number()), script_.signatures);
      }
      case 'L':
        return "Content-Length: " + std::to_string(number()) + "\r\n";
      case 'C':
        return "Transfer-Encoding: chunked\r\n";
      case 'X':
        return "Expect: 100-continue\r\n";
      case 'n':
      case 'e':
        return "\r\n";
      case 'b': {
        const std::string body = bodyOf(number());
        return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
      }
      case 'Z':
        return "0\r\n" + std::string{trailerName} + ": 1\r\n\r\n";
      case 'c':
        return chunked(bodyOf(number()));
      case '*': {
        const std::size_t times = std::size_t{1} << 2 * (number() % 10);
        return std::string(std::min(times, mostSentBytes - sent_), take());
      }
      default:
        return {c};
    }
  }

  void rawAnswer() {
    const std::size_t end = std::min(left_.find("~."), left_.size());
    std::string bytes;
    for (std::size_t at = 0; at < end; ++at) {
      const bool newLine = left_[at] == '~' && at + 1 < end && left_[at + 1] == 'n';
      bytes += newLine ? "\r\n" : std::string(1, left_[at]);
      if (newLine) ++at;
    }
    script_.answers.push_back({'A', bytes});
    left_.remove_prefix(std::min(end + 2, left_.size()));
  }

  void setting(char c) {
    if (c == 'k') script_.withKeys = true;
    if (c == 'r') script_.refusesWithoutToken = true;
  }

  std::string_view left_;
  Script script_{};
  std::size_t client_{0};
  std::size_t sent_{0};
  std::string method_{"POST"};
  std::string target_{"/0"};
};

}  // namespace

Script parseScript(std::string_view input) { return Reader{input}.read(); }

std::string keySecret() { return std::string(32, 's'); }

std::string signedLines(unsigned long long token, const std::string& method, const std::string& target,
                        const std::string& body, std::set<Signed>& signatures) {
  if (token == 0) token = 1;
  signatures.insert({token, method, target, body});
  const FenceSigner signer{{std::string{keyId}, keySecret()}, std::string{audience}};
  const TermStamp stamp{std::string{lease}, FencingToken{token}, {}};
  std::string out;
  for (const auto& [name, value] : fenceHeaders(stamp, method, target, body, &signer)) {
    out += name + ": " + value + "\r\n";
  }
  return out;
}

}  // namespace tenure::fuzz
