// Whether a reply of a JSON service refuses the request only because of its signature.
#pragma once

#include <string>

#include "lockcore/net/http_client.hpp"

namespace tenure::aws {

enum class Refusal {
  none,   ///< served, or refused for another reason
  clock,  ///< the time in the signature
  token,  ///< credentials that are expired or unknown
};

[[nodiscard]] Refusal refusalOf(const net::HttpResponse& response);

}  // namespace tenure::aws
