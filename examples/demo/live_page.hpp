// A page that shows what this candidate knows, for as long as it runs.
#pragma once

#include <fmt/core.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/ops/http_listener.hpp>

#include "events.hpp"

namespace demo {

/// On a port that the system chooses. Throws std::runtime_error.
inline tenure::ops::HttpListener showPage(tenure::LeaderElector& elector, const Events& events) {
  auto listener = tenure::ops::HttpListener::start({.listen = "127.0.0.1:0"}).value();
  listener.watch(elector.view());
  events.tell("page", fmt::format(",\"address\":\"http://{}/\"", listener.address()));
  return listener;
}

}  // namespace demo
