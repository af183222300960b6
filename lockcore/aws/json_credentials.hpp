// The JSON in which credential_process, containers and EC2 give keys.
#pragma once

#include <string>
#include <string_view>

#include "credentials.hpp"
#include "fetch_context.hpp"

namespace tenure::aws {

/// The names that differ between the issuers.
struct JsonKeyNames {
  const char* sessionToken;
  bool versionOne;  ///< "Version": 1 is required
};

/// An error begins with `source` and says what is missing. It contains no part of the JSON.
[[nodiscard]] StoreResult<Credentials> credentialsFromJson(const FetchContext& context, const std::string& source,
                                                           std::string_view json, JsonKeyNames names,
                                                           std::string_view dateHeader);

}  // namespace tenure::aws
