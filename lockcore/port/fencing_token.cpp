#include <ostream>

#include <tenure/lockcore/fencing_token.hpp>

namespace tenure {

std::string toString(FencingToken token) { return std::to_string(token.value()); }

std::string withToken(FencingToken token) {
  return token.isNone() ? "without a fencing token" : "with fencing token " + toString(token);
}

std::ostream& operator<<(std::ostream& out, FencingToken token) { return out << token.value(); }

}  // namespace tenure
