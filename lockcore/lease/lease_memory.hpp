// What a machine of OneTerm knew when it ended, for the next one of the same key and holder.
#pragma once

#include <memory>
#include <vector>

#include "observation.hpp"
#include "packed_version.hpp"

namespace tenure {

/// A row of terms of one process, with no other holder in between.
struct LeaseTurn {
  Instant began{};       ///< when the first of them was won
  Instant left{};        ///< when the last of them ended
  FencingToken token{};  ///< of the last term
};

/// With this memory, a process that looks once a second at a dead holder's record finds it free after one lease (I3:
/// the observation outlives single attempts), and tokens never fall below one that this candidate has seen (I7).
/// Constant.
class LeaseMemory {
 public:
  struct Tokens {
    FencingToken known{};  ///< the highest that the store has shown
    FencingToken floor{};  ///< the highest seen anywhere
    FencingToken own{};    ///< of the last term, if it ended because its record had vanished
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
  /// The observed record was left by an acknowledged release of this candidate: it can be acquired without a read.
  const bool asReleased;
  const std::shared_ptr<const LeaseTurn> turn;  ///< null: there is no limit of turns, or there was no term
};

}  // namespace tenure
