// The grammar of the target `fence_proxy`. An input is text that clients send, with directives in it. Everything that
// is not a directive is sent unchanged, so any bytes can occur at any place.
//
//   ~0 to ~3  what follows is of this client; it connects if it has no connection
//   ~|        a cut: the proxy does all that it can before the next byte comes
//   ~,D       a cut after which the proxy does only 2 to the power of D steps
//   ~tD       time passes: see `pauses`
//   ~h ~r ~x  the client says that it has sent all; resets its connection; closes it
//   ~aC       the service's next answer, by its letter (service.hpp); ~A...~. one of these bytes
//   ~P ~U ~D ~G ~E ~O ~Q   "POST /K HTTP/1.1" and Host, K being the client; PUT, DELETE, GET, HEAD, OPTIONS; GET of 1.0
//   ~TD       Fencing-Token with this term
//   ~SDB      the same, signed for the method and target last written and body B, with its Content-Digest
//   ~LN ~C ~X ~n ~e  Content-Length: N; Transfer-Encoding: chunked; Expect; CR LF; the empty line
//   ~bB ~cB   the rest of a request with body B (`bodies`), counted or in chunks
//   ~Z        the last chunk, with a trailer
//   ~*Dc      4 to the power of D times the byte c
//   ~!k ~!r   anywhere: the fence has keys; no request passes without a token
//   ~~        the byte itself
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tenure::fuzz {

inline constexpr std::size_t mostClients = 4;
inline constexpr std::size_t mostSentBytes = 1U << 20U;  ///< for one input, including what ~* generates

struct Step {
  enum class Kind { send, settle, run, pass, halfClose, reset, close };
  Kind kind{Kind::send};
  std::size_t client{0};
  std::string bytes{};
  std::size_t steps{0};
  std::chrono::milliseconds time{0};
};

struct Answer {
  char kind{'o'};
  std::string bytes{};  ///< of kind A
};

/// What a holder of the key has signed: token, method, target, body.
using Signed = std::tuple<unsigned long long, std::string, std::string, std::string>;

struct Script {
  std::vector<Step> steps{};
  std::deque<Answer> answers{};
  std::set<Signed> signatures{};
  bool withKeys{false};
  bool refusesWithoutToken{false};
};

inline constexpr std::string_view trailerName = "x-trailing";

[[nodiscard]] Script parseScript(std::string_view input);

inline constexpr std::string_view lease = "billing";
inline constexpr std::string_view keyId = "k";
inline constexpr std::string_view audience = "ledger";
[[nodiscard]] std::string keySecret();
/// The lines of a signed request, and the tuple for the judge.
[[nodiscard]] std::string signedLines(unsigned long long token, const std::string& method, const std::string& target,
                                      const std::string& body, std::set<Signed>& signatures);

}  // namespace tenure::fuzz
