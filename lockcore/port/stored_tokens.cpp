#include <tenure/lockcore/lease_store.hpp>

namespace tenure {

std::string disagreementIn(const StoredTokens& tokens) {
  if (tokens.copy.empty() || tokens.copy == tokens.counter) return {};
  const std::string counter = tokens.counter.empty() ? "which is missing" : tokens.counter;
  return "the record's token " + tokens.copy + " is not that of the fencing counter, " + counter +
         ": somebody changed one of them by hand, or put an older copy back; the next term's token is above both";
}

}  // namespace tenure
