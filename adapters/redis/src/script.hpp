// The one script.
#pragma once

namespace tenure::redis_fence {

/// KEYS: the token's hash, then the data's keys. ARGV: token, holder, lease, how many commands; then of each how many
/// words, and the words. Answers with a word and what belongs to it: stale, foreign (token, holder), corrupt (text),
/// failed (which command, Redis's message), done (one reply a command).
extern const char* const script;

}  // namespace tenure::redis_fence
