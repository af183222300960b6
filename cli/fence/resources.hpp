// The resources that `tenure fence recover` corrects: KIND:WHERE on the command line.
#pragma once

#include <memory>
#include <string>

#include <tenure/lockcore/store_error.hpp>

#include "adapters/fence/src/fence_memory.hpp"

namespace tenure::cli {

struct RecoverableResource {
  std::string word;  ///< as it was given
  /// Null: another tool sets it; statementFor() gives the statements for that tool.
  std::unique_ptr<FenceMemory> memory{};
};

/// sqlite:FILE, file:PATH and proxy:FILE are opened; postgresql:SCHEMA and redis:PREFIX are not accessed from here. For
/// any other kind, and for a resource that cannot be opened: an error in one sentence.
[[nodiscard]] StoreResult<RecoverableResource> openResource(const std::string& word);

/// The statements for psql or redis-cli that set a resource without a FenceMemory, after a line of comment where the
/// tool allows comments. Throws std::invalid_argument for a name that the tool does not accept.
[[nodiscard]] std::string statementFor(const std::string& word, const TermStamp& memory);

}  // namespace tenure::cli
