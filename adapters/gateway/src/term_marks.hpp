// What a fence in front of a service has on the disk about one lease.
#pragma once

#include <optional>

#include <tenure/lockcore/fence.hpp>

namespace tenure::http_fence {

struct TermMarks {
  TermStamp seen;  ///< the highest term of which a request has come; requests of lower ones are refused
  /// The one term of which requests may be under way. Empty in a write: what is on the disk stays. A mark is written
  /// when no request of another term is under way any more, and before the first request of its term passes.
  std::optional<FencingToken> passed{};

  friend bool operator==(const TermMarks&, const TermMarks&) = default;
};

}  // namespace tenure::http_fence
