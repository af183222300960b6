#include "answers.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "metric_table.hpp"

namespace tenure::ops {
namespace {

constexpr std::string_view jsonType = "application/json";
constexpr std::string_view pageType = "text/html; charset=utf-8";
/// The page has its styles and its script in itself, and asks only this server.
constexpr const char* pagePolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr const char* methods = "GET, HEAD, OPTIONS";

std::string_view phraseOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Service Unavailable";
  }
}

/// `%41` is A. What is malformed stays as it is.
std::string decoded(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    out += escape ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

/// The value of `name` in `a&b=1`; empty text: it is there without one.
std::optional<std::string> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(one.size() + 1, query.size()));
    const std::size_t equals = std::min(one.find('='), one.size());
    if (one.substr(0, equals) == name) return decoded(one.substr(std::min(equals + 1, one.size())));
  }
  return std::nullopt;
}

bool competes(const Snapshot& elector) {
  const LeaseState state = elector.lease.state;
  return !elector.observes && state != LeaseState::idle && state != LeaseState::stopped;
}

/// Every elector works, and its store has answered: then a new copy may be taken for good.
bool isReady(WatchedElectors& electors) {
  for (const Snapshot& each : electors.snapshots()) {
    const bool works = each.lease.state != LeaseState::idle && each.lease.state != LeaseState::stopped;
    const bool knows = each.standing.leads || each.lease.leaderSeenAgo.count() >= 0;
    if (!works || !knows) return false;
  }
  return electors.knowsAll();
}

Answer yesOrNo(bool yes, const char* good, const char* bad) {
  Answer out;
  out.status = yes ? 200 : 503;
  out.body = std::string{yes ? good : bad} + '\n';
  return out;
}

Answer leaderAnswer(std::string_view query, WatchedElectors& electors) {
  Answer out;
  const std::string group = parameter(query, "group").value_or("");
  const ElectorView* elector = electors.find(group);
  if (elector == nullptr) {
    const bool unclear = group.empty() && electors.size() > 1;
    out.status = unclear ? 400 : group.empty() ? 503 : 404;
    out.body = unclear         ? "this process has several groups or shards; say which: /leader?group=NAME\n"
               : group.empty() ? "nothing competes yet\n"
                               : "there is no such group here\n";
    return out;
  }
  const bool standbyIsFine = parameter(query, "standbyok") && competes(electors.snapshotOf(*elector));
  const LeaderStanding standing = elector->standing();
  out.status = standing.leads || standbyIsFine ? 200 : 503;
  out.type = jsonType;
  out.body = leaderJson(elector->group(), elector->candidate(), standing);
  return out;
}

/// With `group`, the events of that one alone.
Answer eventsAnswer(std::string_view query, const WatchedElectors& electors) {
  std::string group = parameter(query, "group").value_or("");
  if (!group.empty() && electors.find(group) == nullptr)
    return {.status = 404, .body = "there is no such group here\n"};
  return {.type = "text/event-stream", .streams = true, .group = std::move(group)};
}

/// What a client sends to a proxy, `http://host/path`, is for every server to understand (RFC 9112, 3.2.2).
constexpr std::string_view scheme = "http://";

std::string_view withoutAuthority(std::string_view target) {
  if (!target.starts_with(scheme)) return target;
  target.remove_prefix(std::min(target.find_first_of("/?", scheme.size()), target.size()));
  return target.empty() ? "/" : target;
}

/// 127.0.0.0/8, ::1, or the name that stands for them.
bool isOfLoopback(const std::string& name) {
  const std::string quad = (name.find(':') == std::string::npos ? name : '[' + name + ']') + ":0";
  const auto address = parseListen(quad);
  return name == "localhost" || (address && isLocal(*address));
}

}  // namespace

std::string_view authorityIn(std::string_view target) {
  if (!target.starts_with(scheme)) return {};
  target.remove_prefix(scheme.size());
  return target.substr(0, target.find_first_of("/?"));
}

bool mayAsk(std::string_view host, const ListenAddress& listener, const std::string& connectedTo,
            const std::vector<std::string>& hosts) {
  if (listener.isUnix() || (hosts.empty() && !isLocal(listener))) return true;
  const std::string name = nameInHost(host);
  if (name.empty()) return false;
  return isOfLoopback(name) || name == connectedTo ||
         std::any_of(hosts.begin(), hosts.end(), [&](const std::string& one) { return name == nameInHost(one); });
}

Answer answerTo(Method method, std::string_view target, WatchedElectors& electors, const std::string& accept) {
  target = withoutAuthority(target);
  if (method == Method::other) {
    Answer out = errorAnswer(405);
    out.tellsMethods = true;
    return out;
  }
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(0, mark);
  const std::string_view query = target.substr(std::min(mark + 1, target.size()));
  electors.refresh();
  Answer out;
  if (path == "/leader") {
    out = leaderAnswer(query, electors);
  } else if (path == "/events") {
    out = eventsAnswer(query, electors);
  } else if (path == "/livez") {
    out = yesOrNo(!electors.stalled(), "ok", "the renewal thread is stuck");
  } else if (path == "/readyz") {
    out = yesOrNo(isReady(electors), "ok", "does not compete, or its store has not answered yet");
  } else if (path == "/status") {
    out = {200, jsonType, statusJson(electors.snapshots())};
  } else if (path == "/history") {
    out = {200, jsonType, historyJson(electors.history())};
  } else if (path == "/metrics") {
    const std::string_view type = metricsTypeFor(accept);
    out = {200, type, metricsText(type, electors.snapshots(), electors.families())};
  } else if (path == "/") {
    out = {200, pageType, std::string{pageText()}};
  } else {
    out = errorAnswer(404);
  }
  out.tellsMethods = method == Method::options;
  return out;
}

Answer errorAnswer(int status) {
  Answer out;
  out.status = status;
  out.body = std::string{phraseOf(status)} + '\n';
  if (status == 503) out.body += "As many clients follow /events here as may; try again later.\n";
  if (status == 421) {
    out.body +=
        "This listener answers to localhost, to its own address and to the names of http.hosts; the request's Host is "
        "another one.\n";
  }
  return out;
}

std::string messageOf(const Answer& answer, Method method, unsigned httpVersion, bool keepAlive) {
  const bool empty = method == Method::options;
  std::string out = "HTTP/1.1 " + std::to_string(answer.status) + ' ';
  out.append(phraseOf(answer.status)).append("\r\nContent-Type: ").append(answer.type);
  if (!answer.streams || empty) out += "\r\nContent-Length: " + std::to_string(empty ? 0 : answer.body.size());
  out += "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
  if (answer.type == pageType) out += std::string{"Content-Security-Policy: "} + pagePolicy + "\r\n";
  if (answer.tellsMethods) out += std::string{"Allow: "} + methods + "\r\n";
  if (!keepAlive) out += "Connection: close\r\n";
  if (keepAlive && httpVersion < 11) out += "Connection: keep-alive\r\n";
  out += "\r\n";
  if (method != Method::head && !empty) out += answer.body;
  return out;
}

}  // namespace tenure::ops
