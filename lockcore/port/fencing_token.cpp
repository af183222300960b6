#include <ostream>

#include <tenure/lockcore/fencing_token.hpp>

namespace tenure {

std::string toString(FencingToken token) { return std::to_string(token.value()); }

std::string withToken(FencingToken token) {
  return token.isNone() ? "without a fencing token" : "with fencing token " + toString(token);
}

/// Digits alone: the locale of a stream may put points between them.
std::ostream& operator<<(std::ostream& out, FencingToken token) { return out << std::to_string(token.value()); }

}  // namespace tenure
