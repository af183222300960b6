#include <stdexcept>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/fence.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/port/store_checks.hpp"
#include "quoted_text.hpp"

namespace tenure {
namespace {

std::string quoted(const std::string& lease) { return "lease \"" + toString(LeaseKey{lease}) + '"'; }

}  // namespace

void throw_exception_from_error(const FenceError& error, const boost::source_location& /*where*/) {
  throw std::runtime_error(error.message);
}

FenceError fenceError(StoreError error, bool mayBeWritten) {
  error.message = shown(error.message);  // it may hold what a server or an earlier writer wrote
  std::string message = error.message;
  return {WriteError{std::move(error), mayBeWritten}, std::move(message)};
}

FenceError termOver(const TermStamp& stamp) {
  return {TermOver{stamp.token}, quoted(stamp.lease) + ": a write of " + personOf(stamp.holder) +
                                     " with fencing token " + toString(stamp.token) +
                                     " was not sent, because its term is no longer valid; its work must stop"};
}

std::optional<FenceError> termError(const TermStamp& mine, const std::optional<TermStamp>& seen) {
  if (!seen || seen->token < mine.token) return std::nullopt;
  const std::string seenHolder = seen->holder.empty() ? "an unnamed holder" : personOf(seen->holder);
  if (mine.token < seen->token) {
    return FenceError{StaleToken{mine.token, seen->token},
                      quoted(mine.lease) + ": refused a write of " + personOf(mine.holder) + " with fencing token " +
                          toString(mine.token) + ", because " + seenHolder + " has written with token " +
                          toString(seen->token) + "; the writer's term is over and its work must stop"};
  }
  if (seen->holder.empty() || seen->holder == mine.holder) return std::nullopt;
  return FenceError{ForeignTerm{mine.token, seen->holder},
                    quoted(mine.lease) + ": refused a write of " + personOf(mine.holder) + ", because " + seenHolder +
                        " has written with the same fencing token " + toString(mine.token) +
                        "; find out whether two groups use one lease name, or an old copy of the store was put back"};
}

std::optional<FenceError> errorOf(const TermStamp& stamp) {
  std::string faults;
  const auto add = [&](bool wrong, const char* text) {
    if (wrong) faults += (faults.empty() ? "" : "; ") + std::string{text};
  };
  add(stamp.lease.empty(), "it names no lease");
  add(stamp.holder.empty(), "it names no holder");
  add(stamp.token.isNone(), "it has no fencing token, so it belongs to no term");
  add(stamp.token > maxFencingToken, "its fencing token is above the largest possible one, 9007199254740991");
  add(!isPlainText(stamp.lease) || !isPlainText(stamp.holder), "its lease or holder is not UTF-8 text without NUL");
  if (faults.empty()) return std::nullopt;
  return fenceError({ErrorClass::misconfigured, quoted(stamp.lease) + ": the stamp of a write is wrong: " + faults});
}

}  // namespace tenure
