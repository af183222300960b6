// What an answer means that is not a success: its class, and whether the request may have been carried out. Judged by
// the status, never by the wording of a message.
#pragma once

#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "gateway.hpp"

namespace tenure::kubernetes_store {

using net::CallName;
using net::Fault;

/// Empty: the server says that it has carried the request out, and the body tells the rest.
///
/// Only a rejection that comes before the write proves anything: 400, 401, 403, 404, 405, 409, 413, 415, 422, 429.
/// After 500, 503 and 504 the write may have been carried out, or may still be: the server answers 504 when its own
/// etcd did not answer it in time, and 500 when that broke off.
[[nodiscard]] TENURE_API std::optional<Fault> faultIn(const CallName& call, const Outcome& outcome);

/// Of an answer that is no error and is not understood either.
[[nodiscard]] TENURE_API StoreError notUnderstood(const CallName& call, const std::string& what);

}  // namespace tenure::kubernetes_store
