// `${VAR}`, `${VAR:-default}` and `$$` in the text of a value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenure/config/load_group.hpp>

namespace tenure::config {

struct VariableFault {
  std::size_t offset;  ///< of the `$` in the given text
  std::string message;
};

struct Expansion {
  std::string text;
  std::vector<VariableFault> faults;  ///< all of them; if there is one, `text` has no meaning
};

/// Replaces each variable once; the value of a variable is not expanded again.
[[nodiscard]] Expansion expandVariables(std::string_view text, const VariableSource& variables);

}  // namespace tenure::config
