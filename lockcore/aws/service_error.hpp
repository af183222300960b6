// Whether a reply of a JSON service refuses the request for its signature alone.
#pragma once

#include <string>

#include "lockcore/net/http_client.hpp"

namespace tenure::aws {

enum class Refusal {
  none,   ///< served, or refused for what was asked
  clock,  ///< the time in the signature
  token,  ///< credentials that are expired or not known
};

[[nodiscard]] Refusal refusalOf(const net::HttpResponse& response);

}  // namespace tenure::aws
