// What an answer means that is not a success: its class, and whether the request may have been carried out. Judged by
// status and code, never by the wording of a message (but for one answer: UserToken::isRefused).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "gateway.hpp"

namespace tenure::etcd_store {

using net::CallName;
using net::Fault;

/// gRPC's code and words, as etcd's gateway puts them into the body of an error.
struct Told {
  int code{0};  ///< 1 to 16; 0: the body is no error of etcd's
  std::string message{};
};
[[nodiscard]] Told toldIn(std::string_view body);

/// What an answer means that is no success. Only one with etcd's code can prove that a request was not carried out.
/// Without it something else may have answered, and have passed the request on before. (The gateway's own answers
/// without a code, such as the one about common names, count so too.)
struct Verdict {
  Told told{};
  ErrorClass errorClass{ErrorClass::transient};
  bool maybeApplied{true};
};
[[nodiscard]] Verdict verdictOn(int status, std::string_view body);

/// Empty: a member says that it has carried the request out, and the body tells the rest. A rejection proves nothing
/// about copies of the request that are out at other members.
[[nodiscard]] std::optional<Fault> faultIn(const CallName& call, const Outcome& outcome);

/// Of an answer that is no error and is not understood either.
[[nodiscard]] StoreError notUnderstood(const CallName& call, const std::string& member, const std::string& what);

}  // namespace tenure::etcd_store
