// The texts of the statements, with pieces in brackets for what several of them have in common.
#pragma once

#include <string_view>

#include "database.hpp"

namespace tenure::postgresql_store {

/// `[name]` or `[name argument, argument]` in a text stands for the text of that piece, with `%1` and `%2` replaced.
struct Piece {
  std::string_view name;
  std::string_view text;
};

/// The piece of this name; empty text: there is none. `history` as for textOf().
[[nodiscard]] std::string_view pieceNamed(std::string_view name, bool history) noexcept;

/// The text of a statement. `[table]` and `[tableText]` are the table's name, as a name and as a literal.
[[nodiscard]] std::string_view textOf(StatementId id) noexcept;

}  // namespace tenure::postgresql_store
