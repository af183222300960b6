// The resources that `tenure fence recover` sets right: KIND:WHERE on the command line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenure/lockcore/store_error.hpp>

#include "adapters/fence/src/fence_memory.hpp"

namespace tenure::cli {

struct RecoverableResource {
  std::string word;  ///< as it was given
  /// Null: it is set by a tool of its own, for which statementFor() has the statements.
  std::unique_ptr<FenceMemory> memory{};
};

/// sqlite:FILE, file:PATH and proxy:FILE are opened; postgresql:SCHEMA and redis:PREFIX are not reached from here. An
/// error, one sentence, for any other kind, and for one that cannot be opened.
[[nodiscard]] StoreResult<RecoverableResource> openResource(const std::string& word);

/// What sets a resource without a FenceMemory, for psql or redis-cli, with a line of comment before it where the tool
/// takes comments. Throws std::invalid_argument for a name that the tool cannot take.
[[nodiscard]] std::string statementFor(const std::string& word, const TermStamp& memory);

}  // namespace tenure::cli
