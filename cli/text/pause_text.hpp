// Who pauses a group, and what a pause is called in messages.
#pragma once

#include <optional>
#include <string>

#include <tenure/election/listener.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure::cli {

/// USER@HOST of the person at the keyboard, for Pause::by. Under sudo the one who called it.
[[nodiscard]] std::string whoPauses();

/// What is wrong with the words of a pause; empty: they can be its name.
[[nodiscard]] std::string faultOf(const Pause& pause);

/// The pause that holds the lease now.
[[nodiscard]] std::optional<Pause> pauseOf(const std::optional<LeaseRecord>& record);

/// "alice (1a2b3c4d) leads billing with fencing token 4", or "billing is paused by ...". For a lease that is held.
[[nodiscard]] std::string whoHas(const std::string& lease, const std::string& holder, FencingToken token);

}  // namespace tenure::cli
