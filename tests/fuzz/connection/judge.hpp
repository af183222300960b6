// What must be true of the bytes that the service and the clients got, whatever anybody sent.
#pragma once

#include <string>
#include <vector>

#include "connection/script.hpp"
#include "connection/service.hpp"

namespace tenure::fuzz {

/// What one connection of a client sent and got.
struct Talk {
  std::string sent{};
  std::string got{};
};

/// Ends the process if a promise is broken.
void judge(const Script& script, const Service& service, const std::vector<Talk>& talks);

}  // namespace tenure::fuzz
