// Whether libpq would read the file with the password.
#pragma once

#include <string>

#include "connection_settings.hpp"

namespace tenure::postgresql_store {

struct PassfileState {
  std::string fault{};    ///< why no password comes from it; empty: nothing is known to be wrong
  bool wouldWarn{false};  ///< libpq would say so on the standard error, with each connection
};

/// `found`: what libpq makes of options and environment.
[[nodiscard]] PassfileState passfileState(const Settings& found);

}  // namespace tenure::postgresql_store
