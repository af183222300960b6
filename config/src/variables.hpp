// `${VAR}`, `${VAR:-default}` and `$$` in the text of a value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenure/config/load_group.hpp>

namespace tenure::config {

struct VariableFault {
  std::size_t offset;  ///< of the `$` in the text that was given
  std::string message;
};

struct Expansion {
  std::string text;
  std::vector<VariableFault> faults;  ///< all of them; `text` means nothing if there is one
};

/// Replaces each variable once: what comes out of a variable is not looked at again.
[[nodiscard]] Expansion expandVariables(std::string_view text, const VariableSource& variables);

}  // namespace tenure::config
