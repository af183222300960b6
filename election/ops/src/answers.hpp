// What the listener answers to a request. No I/O.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "election/src/listen_address.hpp"
#include "watched_electors.hpp"

namespace tenure::ops {

enum class Method { get, head, options, other };

struct Answer {
  int status{200};
  std::string_view type{"text/plain; charset=utf-8"};
  std::string body{};
  bool tellsMethods{false};  ///< with the header Allow
  bool streams{false};       ///< it has no end: the events of WatchedElectors follow the header
  std::string group{};       ///< whose events those are; empty: of all groups
};

/// For a target such as `/leader?standbyok`. What depends on the clock is read in this call. `accept`: the header of
/// that name, of which /metrics knows its types; all others have one each.
[[nodiscard]] Answer answerTo(Method method, std::string_view target, WatchedElectors& electors,
                              const std::string& accept = {});

/// Whether a request with this header Host may be answered; `connectedTo` is the numeric address to which its client
/// connected. A page of any site can reach a listener of this machine under a name of its own, and read the answers
/// (DNS rebinding). Its browser then sends that name. So a listener on loopback knows only the names of loopback,
/// `hosts`, and itself; others do so where `hosts` is given.
[[nodiscard]] bool mayAsk(std::string_view host, const ListenAddress& listener, const std::string& connectedTo,
                          const std::vector<std::string>& hosts);

/// The data of an event: `{"group":..., "candidate":..., "leads":true, "fencing_token":41, "leader":{...}}`, in one
/// line and without anything that changes while the same candidate leads.
[[nodiscard]] std::string leaderEventJson(const Snapshot& elector);

/// For what is no request that could be answered: 400, 408, 413, 421, 431; 503: no further stream of events now.
[[nodiscard]] Answer errorAnswer(int status);

/// The whole message. To HEAD and OPTIONS it has no body. `version`: 10 or 11, that of the request.
[[nodiscard]] std::string messageOf(const Answer& answer, Method method, unsigned version, bool keepAlive);

/// The host of a target such as `http://host/leader`; empty: it has none.
[[nodiscard]] std::string_view authorityIn(std::string_view target);

/// The page at `/`.
[[nodiscard]] std::string_view pageText();

}  // namespace tenure::ops
