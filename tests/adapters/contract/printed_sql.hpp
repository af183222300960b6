// What `tenure fence install-sql` prints.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace tenure::contract {

/// The shell parses `arguments`.
inline std::string printedSql(const std::string& arguments) {
  const std::string command = std::string{TENURE_PROGRAM} + " fence install-sql " + arguments;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error{command};
  std::string text;
  std::array<char, 4096> piece{};
  while (const std::size_t got = fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), got);
  if (pclose(pipe) != 0) throw std::runtime_error{command + ": failed"};
  return text;
}

}  // namespace tenure::contract
