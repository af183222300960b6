// The keys that sign requests, and where they came from.
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

/// `lifetime` counts from the moment of the fetch. Where possible it was computed with the clock of the issuer, so that
/// a machine with a wrong clock does not discard good keys. None: they do not expire.
struct Credentials {
  Keys keys{};
  std::optional<std::chrono::seconds> lifetime{};
  std::string source{};   ///< for people: "profile billing (/home/a/.aws/credentials)"
  std::string warning{};  ///< for people: what is not as it should be; empty: nothing
};

/// This way of getting credentials is not set up here, so the next one is asked. `why` goes into the final error.
struct NotConfigured {
  std::string why{};
};

/// If a way is set up and does not work, its error ends the search: going on would sign with keys that nobody wanted to
/// use. Each link of the chain returns one of the three.
using ProviderResult = std::variant<Credentials, NotConfigured, StoreError>;

}  // namespace tenure::aws
