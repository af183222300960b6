#include "connection/reader.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace tenure::fuzz {
namespace {

constexpr std::string_view lineEnd = "\r\n";
constexpr std::size_t mostFields = 101;                   // 100 of the client's and Via
constexpr std::size_t mostHeadBytes = (16U << 10U) + 64;  // Via, and Transfer-Encoding again

bool isTokenText(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
  });
}

bool isPrintable(char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7F; }

bool isDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string lower(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// CGI and WSGI turn a name into a variable, where `_` stands for `-`.
std::string guessedName(std::string_view name) {
  std::string out = lower(trimmed(name));
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

const char* faultOfRequestLine(std::string_view line, ReadRequest& out) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return "a request line has three parts";
  out.method = line.substr(0, first);
  out.target = line.substr(first + 1, last - first - 1);
  if (!isTokenText(out.method)) return "a method is a token";
  if (line.substr(last + 1) != "HTTP/1.1") return "the version is HTTP/1.1";
  if (!std::all_of(out.target.begin(), out.target.end(), isPrintable)) return "a target has no blanks";
  const bool wellFormed = out.target.starts_with('/') || (out.target == "*" && out.method == "OPTIONS");
  return wellFormed ? nullptr : "a target is a path";
}

const char* faultOfField(std::string_view line, ReadRequest& out) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return "a field has a colon";
  if (!isTokenText(line.substr(0, colon))) return "a field's name is a token";
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!std::all_of(value.begin(), value.end(), [](char c) { return isPrintable(c) || c == ' ' || c == '\t'; })) {
    return "a field's value has no control characters";
  }
  out.fields.emplace_back(lower(line.substr(0, colon)), value);
  return nullptr;
}

bool hasBodyThatMayBeLeft(const ReadRequest& request) {
  const bool framed = !request.values("content-length").empty() || !request.values("transfer-encoding").empty();
  const auto lengths = request.values("content-length");
  const bool empty = !lengths.empty() && lengths[0] == "0";
  return framed && !empty && request.method != "POST" && request.method != "PUT" && request.method != "PATCH";
}

const char* faultOfFields(const ReadRequest& request) {
  if (request.fields.size() > mostFields) return "the number of fields is bounded";
  const auto connection = request.values("connection");
  if (!connection.empty() && connection != std::vector<std::string>{"close"}) {
    return "what is of the connection is not forwarded";
  }
  if (hasBodyThatMayBeLeft(request) && connection.empty()) return "a body that may be left ends the connection";
  for (const char* name : {"keep-alive", "proxy-connection", "te", "trailer", "upgrade", "http2-settings", "expect",
                           "proxy-authenticate"}) {
    if (!request.values(name).empty()) return "what is of the connection is not forwarded";
  }
  for (const char* name : {"host", "fencing-token", "content-digest"}) {
    if (request.values(name).size() > 1) return "Host, token and digest come once";
  }
  const auto lengths = request.values("content-length");
  const auto codings = request.values("transfer-encoding");
  if (lengths.size() + codings.size() > 1) return "one field frames a request";
  if (!lengths.empty() && (!isDigits(lengths[0]) || lengths[0].size() > 18)) return "a length is a number";
  if (!codings.empty() && codings[0] != "chunked") return "the coding is chunked";
  return nullptr;
}

/// The position after the last chunk; 0: not complete. No extensions, no trailers.
std::size_t readChunks(std::string_view bytes, std::size_t at, ReadRequest& out) {
  for (;;) {
    const std::size_t end = bytes.find(lineEnd, at);
    if (end == std::string_view::npos) return 0;
    const std::string size{bytes.substr(at, end - at)};
    const bool isHex = !size.empty() && size.size() < 16 &&
                       std::all_of(size.begin(), size.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (!isHex) return out.fault = "a chunk has its size and nothing else", 0;
    const std::size_t length = std::strtoull(size.c_str(), nullptr, 16);
    at = end + 2;
    out.body += bytes.substr(at, length);
    if (bytes.size() < at + length + 2) return 0;
    if (bytes.substr(at + length, 2) != lineEnd) return out.fault = "a chunk ends with its line", 0;
    at += length + 2;
    if (length == 0) return at;
  }
}

void readBody(std::string_view bytes, ReadRequest& out) {
  if (!out.values("transfer-encoding").empty()) {
    out.end = readChunks(bytes, out.headEnd, out);
    return;
  }
  const auto lengths = out.values("content-length");
  const std::size_t length = lengths.empty() ? 0 : std::strtoull(lengths[0].c_str(), nullptr, 10);
  out.body = bytes.substr(out.headEnd, length);
  if (out.body.size() == length) out.end = out.headEnd + length;
}

/// The position after the last chunk for a reader that uses the part of a line before a `;`, and skips trailers.
std::size_t skipChunks(std::string_view bytes, std::size_t at) {
  for (;;) {
    const std::size_t end = bytes.find('\n', at);
    if (end == std::string_view::npos) return 0;
    const std::size_t length = std::strtoull(std::string{bytes.substr(at, end - at)}.c_str(), nullptr, 16);
    if (length == 0) {
      const std::size_t empty = bytes.find("\r\n\r\n", end - 1);
      return empty == std::string_view::npos ? 0 : empty + 4;
    }
    if (length > bytes.size() || bytes.size() < end + 1 + length + 2) return 0;
    at = end + 1 + length + 2;
  }
}

}  // namespace

std::vector<std::string> ReadRequest::values(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : fields) {
    if (key == name) out.push_back(value);
  }
  return out;
}

ReadRequest readStrictly(std::string_view bytes, std::size_t begin) {
  ReadRequest out;
  out.begin = begin;
  const std::size_t empty = bytes.find("\r\n\r\n", begin);
  if (empty == std::string_view::npos) {
    if (bytes.size() - begin > mostHeadBytes) out.fault = "a head is bounded";
    return out;
  }
  out.headEnd = empty + 4;
  if (out.headEnd - begin > mostHeadBytes) out.fault = "a head is bounded";
  for (std::size_t at = begin; at < empty + 2 && out.fault == nullptr;) {
    const std::size_t end = bytes.find(lineEnd, at);
    const std::string_view line = bytes.substr(at, end - at);
    out.fault = at == begin ? faultOfRequestLine(line, out) : faultOfField(line, out);
    at = end + 2;
  }
  if (out.fault == nullptr) out.fault = faultOfFields(out);
  if (out.fault == nullptr) readBody(bytes, out);
  return out;
}

std::size_t endOfRequest(std::string_view bytes, std::size_t begin, const Dialect& dialect) {
  const std::size_t empty = bytes.find("\r\n\r\n", begin);
  if (empty == std::string_view::npos) return 0;
  std::vector<std::string> lengths;
  bool chunked = false;
  for (std::size_t at = bytes.find('\n', begin) + 1; at < empty + 2;) {
    const std::size_t end = bytes.find('\n', at);
    const std::string_view line = bytes.substr(at, end - at);
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string name = guessedName(line.substr(0, colon));
    if (name == "content-length") lengths.emplace_back(line.substr(std::min(colon + 1, line.size())));
    if (name == "transfer-encoding") chunked |= lower(line).find("chunked") != std::string::npos;
    at = end + 1;
  }
  const std::size_t headEnd = empty + 4;
  const std::string_view method = bytes.substr(begin, bytes.find(' ', begin) - begin);
  if (dialect.readsHaveNoBody && onlyReads(method)) return headEnd;
  if (chunked && !(dialect.lengthBeatsCoding && !lengths.empty())) return skipChunks(bytes, headEnd);
  if (lengths.empty()) return headEnd;
  const std::string& one = dialect.lastLength ? lengths.back() : lengths.front();
  const std::size_t length = std::strtoull(one.c_str(), nullptr, dialect.lengthBase);
  return length > bytes.size() - headEnd ? 0 : headEnd + length;
}

unsigned long long claimedToken(std::string_view header, std::string_view ofLease) {
  unsigned long long found = 0;
  bool quoted = false;
  bool atMember = true;
  for (std::size_t at = 0; at < header.size(); ++at) {
    const char c = header[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
      continue;
    }
    if (atMember && (c == ' ' || c == '\t')) continue;
    if (atMember && header.substr(at).starts_with(ofLease) && header.substr(at + ofLease.size()).starts_with('=')) {
      std::size_t digits = at + ofLease.size() + 1;
      if (digits < header.size() && header[digits] == '"') ++digits;
      if (found != 0) return 0;
      found = std::strtoull(std::string{header.substr(digits, 20)}.c_str(), nullptr, 10);
    }
    atMember = c == ',';
    quoted = c == '"';
  }
  return found;
}

bool onlyReads(std::string_view method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

}  // namespace tenure::fuzz
