// Finds out who probably wrote an item that is no lock of ours.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "layout.hpp"

namespace tenure::dynamodb_store {

/// A sentence for people: which client writes items like this one, and what to do. Never empty.
[[nodiscard]] std::string likelyWriterOf(const Layout& layout, const boost::json::object& item);

}  // namespace tenure::dynamodb_store
