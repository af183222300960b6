// What signs requests, and where it came from.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::aws {

struct Keys {
  std::string accessKeyId{};
  std::string secretAccessKey{};
  std::string sessionToken{};  ///< empty: none

  friend bool operator==(const Keys&, const Keys&) = default;
};

/// `lifetime` counts from the moment of the fetch and was computed with the clock of whoever issued the keys where that
/// is known, so that a machine with a wrong clock does not throw good keys away. None: they do not expire.
struct Credentials {
  Keys keys{};
  std::optional<std::chrono::seconds> lifetime{};
  std::string source{};  ///< for people: "profile billing (/home/a/.aws/credentials)"
};

/// This way of getting credentials is not set up here; the next one is asked. `why` goes into the final error.
struct NotConfigured {
  std::string why{};
};

/// A way that is set up and does not work ends the search with its error: going on would sign with keys that nobody
/// meant. Each link of the chain gives one of the three.
using ProviderResult = std::variant<Credentials, NotConfigured, StoreError>;

}  // namespace tenure::aws
