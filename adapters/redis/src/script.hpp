// The one script.
#pragma once

namespace tenure::redis_fence {

/// KEYS: the token's hash, then the data's keys. ARGV: token, holder, lease, the number of commands; then for each
/// command the number of its words, and the words. The answer is a word and what belongs to it: stale, foreign (token,
/// holder), corrupt (text), failed (the number of the command, Redis's message), done (one reply for each command).
extern const char* const script;

}  // namespace tenure::redis_fence
