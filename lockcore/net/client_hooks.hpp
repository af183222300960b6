// Internal: a client in which tests can replace parts.
#pragma once

#include <memory>

#include "address_book.hpp"
#include "http_client.hpp"

namespace tenure::net {

struct ClientHooks {
  Lookup lookup{systemLookup};
};

[[nodiscard]] std::shared_ptr<HttpClient> makeHttpClient(HttpClientOptions options, ClientHooks hooks);

}  // namespace tenure::net
