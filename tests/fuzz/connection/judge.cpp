#include "connection/judge.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "fuzz_support.hpp"

namespace tenure::fuzz {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool isSentBySomebody(const std::vector<Talk>& talks, const std::string& text) {
  return std::any_of(talks.begin(), talks.end(), [&](const Talk& one) { return contains(one.sent, text); });
}

/// The smuggling property: no service finds a request where a strict reader finds none. One exception: after a head
/// with a token comes the body of the leader of that term, who may write anyway. So there a reader that ignores the
/// bodies of GET may be wrong.
void everybodyReadsTheSame(const std::string& bytes, const Arrival& one) {
  for (const Dialect& dialect : dialects) {
    if (dialect.readsHaveNoBody && one.token != 0) continue;
    const std::size_t end = endOfRequest(bytes, one.request.begin, dialect);
    if (!one.request.isWhole()) continue;
    if (end != one.request.end) std::fprintf(stderr, "a service that %s\n", dialect.name);
    require(end == one.request.end, "every service finds the end of a request at the same place");
  }
}

void wasAdmitted(const Arrival& one, const Script& script, const std::vector<Talk>& talks) {
  const ReadRequest& request = one.request;
  const auto tokens = request.values("fencing-token");
  if (tokens.empty()) {
    const auto lengths = request.values("content-length");
    const bool noBody = (lengths.empty() || lengths[0] == "0") && request.values("transfer-encoding").empty();
    require(noBody && onlyReads(request.method), "what has no token only reads, and has no body");
    require(!script.refusesWithoutToken, "where nothing passes without a token, nothing does");
    return;
  }
  require(one.token != 0, "a token that is forwarded is one of the lease");
  require(isSentBySomebody(talks, tokens[0]), "a token comes from a client");
  if (!script.withKeys || !request.isWhole()) return;
  require(script.signatures.contains({one.token, request.method, request.target, request.body}),
          "with keys nothing passes that nobody has signed: token, method, target and body");
}

/// Text after a body is not a header. Only a line right after a lone `0` is certainly in no head.
void trailersAreNoHeaders(const Arrival& one, const std::vector<Talk>& talks) {
  if (one.request.values(trailerName).empty()) return;
  const std::string behindLastChunk = "\r\n0\r\n" + std::string{trailerName};
  const bool onlyBehind = std::none_of(talks.begin(), talks.end(), [&](const Talk& talk) {
    for (std::size_t at = 0; (at = talk.sent.find(trailerName, at)) != std::string::npos; ++at) {
      const std::size_t line = at < 5 ? std::string::npos : at - 5;
      if (line == std::string::npos || talk.sent.compare(line, behindLastChunk.size(), behindLastChunk) != 0)
        return true;
    }
    return false;
  });
  require(!onlyBehind, "a trailer does not become a header");
}

void termsNeverMix(const Service& service) {
  std::vector<const Arrival*> fenced;
  for (const auto& connection : service.connections()) {
    for (const Arrival& one : connection->arrivals) {
      if (one.token != 0) fenced.push_back(&one);
    }
  }
  for (const Arrival* earlier : fenced) {
    for (const Arrival* later : fenced) {
      if (earlier->token >= later->token) continue;
      require(earlier->lastByte < later->firstByte, "nothing of a term comes after the first byte of a later one");
      require(earlier->answered != 0 && earlier->answered <= later->firstByte,
              "while a request is under way, none of a later term is");
    }
  }
}

/// Each answer belongs to a request of the connection that got it, and the service's words do not pass for the fence's.
void answersAreTheirOwn(const Talk& talk) {
  require(!contains(talk.got, Service::strayMark), "an answer that nobody has asked for reaches nobody");
  require(!contains(talk.got, Service::forgedHolder), "a service does not speak as the fence");
  const std::string name = std::string{Service::answersName} + ": ";
  for (std::size_t at = talk.got.find(name); at != std::string::npos; at = talk.got.find(name, at)) {
    at += name.size();
    const std::string target = talk.got.substr(at, talk.got.find("\r\n", at) - at);
    // `http://host?x` is forwarded as `/?x`.
    const bool asked =
        contains(talk.sent, target) || (target.starts_with("/?") && contains(talk.sent, target.substr(1)));
    require(asked, "an answer goes to the client that has asked");
  }
}

/// Checks heads as far as they are known: nothing is known about answers that the script has written itself.
void answersAreFramedOnce(const Talk& talk) {
  for (std::size_t at = 0; talk.got.compare(at, 5, "HTTP/") == 0;) {
    const std::size_t end = talk.got.find("\r\n\r\n", at);
    if (end == std::string::npos) return;
    std::string head = talk.got.substr(at, end + 2 - at);
    std::transform(head.begin(), head.end(), head.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto length = head.find("\r\ncontent-length:");
    const auto coding = head.find("\r\ntransfer-encoding:");
    require(length == std::string::npos || coding == std::string::npos, "one field frames an answer");
    const std::string rest = length == std::string::npos ? "0" : head.substr(length + 17, 20);
    at = end + 4 + std::strtoull(rest.c_str(), nullptr, 10);
    if (at >= talk.got.size()) return;
  }
}

}  // namespace

void judge(const Script& script, const Service& service, const std::vector<Talk>& talks) {
  for (const auto& connection : service.connections()) {
    for (const Arrival& one : connection->arrivals) {
      require(one.request.fault == nullptr, one.request.fault);
      if (one.request.headEnd == 0) continue;
      everybodyReadsTheSame(connection->bytes, one);
      wasAdmitted(one, script, talks);
      trailersAreNoHeaders(one, talks);
    }
  }
  termsNeverMix(service);
  for (const Talk& talk : talks) {
    answersAreTheirOwn(talk);
    answersAreFramedOnce(talk);
  }
}

}  // namespace tenure::fuzz
