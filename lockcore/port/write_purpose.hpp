// What a write does, for messages.
#pragma once

#include <string_view>

#include "lockcore/port/lease_store.hpp"

namespace tenure {

/// `renewing`
[[nodiscard]] constexpr std::string_view doing(WriteRequest::Purpose purpose) noexcept {
  switch (purpose) {
    case WriteRequest::Purpose::acquire:
      return "acquiring";
    case WriteRequest::Purpose::renew:
      return "renewing";
    case WriteRequest::Purpose::release:
      return "releasing";
  }
  return "writing";
}

}  // namespace tenure
