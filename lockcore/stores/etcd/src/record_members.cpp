#include "record_members.hpp"

#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "lockcore/port/quoted_text.hpp"

namespace tenure::etcd_store {

std::optional<boost::json::object> valueObject(std::string_view text) {
  boost::system::error_code fault;
  boost::json::value parsed = boost::json::parse(text, fault);
  if (fault || !parsed.is_object()) return std::nullopt;
  return std::move(parsed.get_object());
}

StoreError corruptValue(const Place& place, const std::string& fault) {
  return {ErrorClass::corrupt,
          place.store + ": lease " + toString(place.lease) + ": " + fault + " in the value of key " +
              inQuotes(place.key) +
              ". This release of tenure writes no such value: it was probably edited by hand, or written by another "
              "program or a newer release. It is left as it is, and nobody can take the lease until it is put right "
              "(`etcdctl get`, `etcdctl put`). If a token is too high, use `tenure fence recover`"};
}

}  // namespace tenure::etcd_store
