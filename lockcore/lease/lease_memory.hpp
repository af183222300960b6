// What a machine of OneTerm had seen when it ended, for the next one of the same key and holder.
#pragma once

#include <memory>
#include <vector>

#include "observation.hpp"
#include "packed_version.hpp"

namespace tenure {

/// Terms of one process that followed each other, nobody else's between them.
struct LeaseTurn {
  Instant began{};       ///< when the first of them was won
  Instant left{};        ///< when the last of them ended
  FencingToken token{};  ///< of the last of them
};

/// So that one look each second at a dead holder's record finds it free after one lease (I3: the observation outlives
/// single attempts), and tokens never fall behind one that this candidate has seen (I7). Constant.
class LeaseMemory {
 public:
  struct Tokens {
    FencingToken known{};  ///< the highest that the store has shown
    FencingToken floor{};  ///< the highest that was seen
    FencingToken own{};    ///< of the last term, if it ended because its record was gone
  };

  LeaseMemory(Observation seen, Tokens seenTokens, std::vector<PackedVersion> sent, bool leftByRelease,
              std::shared_ptr<const LeaseTurn> turnSoFar)
      : observation{std::move(seen)},
        tokens{seenTokens},
        sentVersions{std::move(sent)},
        asReleased{leftByRelease},
        turn{std::move(turnSoFar)} {}

  const Observation observation;
  const Tokens tokens;
  const std::vector<PackedVersion> sentVersions;
  /// The observation is what an acknowledged release of this candidate left: it needs no look before it is taken again.
  const bool asReleased;
  const std::shared_ptr<const LeaseTurn> turn;  ///< null: nobody counts turns, or there was no term
};

}  // namespace tenure
