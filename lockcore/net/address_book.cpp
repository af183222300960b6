#include "address_book.hpp"

#include <algorithm>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <stdexcept>
#include <system_error>

#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/thread.hpp"

namespace tenure::net {
namespace {

IpAddress fromSocketAddress(const sockaddr* raw) {
  IpAddress address;
  if (raw->sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, raw, sizeof in);
    address.v6 = true;
    address.scope = in.sin6_scope_id;
    std::memcpy(address.bytes.data(), &in.sin6_addr, sizeof in.sin6_addr);
  } else {
    sockaddr_in in{};
    std::memcpy(&in, raw, sizeof in);
    std::memcpy(address.bytes.data(), &in.sin_addr, sizeof in.sin_addr);
  }
  return address;
}

LookupFault faultOf(const std::string& host, int code) {
  const std::string why = lookupFaultText(code);
  return {"no address is known for the name " + host + " (" + why + "); check the name and this machine's resolver"};
}

}  // namespace

void throw_exception_from_error(const LookupFault& fault, const boost::source_location& /*where*/) {
  throw std::runtime_error{fault.why};
}

LookupResult systemLookup(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  // No AI_ADDRCONFIG: it hides ::1 where no other interface has an IPv6 address. All addresses are tried.
  addrinfo* list = nullptr;
  if (const int code = getaddrinfo(host.c_str(), nullptr, &hints, &list); code != 0) return faultOf(host, code);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner{list, &freeaddrinfo};
  Addresses addresses;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    const IpAddress address = fromSocketAddress(one->ai_addr);
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) addresses.push_back(address);
  }
  if (addresses.empty()) return faultOf(host, EAI_NONAME);
  return addresses;
}

void AddressBook::find(const std::string& host, const Found& found) {
  if (const auto literal = parseIpAddress(host)) return found(Addresses{*literal});
  Entry& entry = entries_[host];
  entry.book = this;
  const auto now = alarms_.now();
  const bool fresh = !entry.addresses.empty() && now < entry.staleAt;
  const bool mustServeOld = !entry.addresses.empty() && (entry.hanging || now < entry.failureUntil);
  if (fresh || mustServeOld) {
    if (!fresh && !entry.running && now >= entry.failureUntil) start(host, entry);
    return found(Addresses{entry.addresses});
  }
  if (!entry.running && now < entry.failureUntil) return found(LookupFault{entry.failure});
  if (entry.waiting.size() >= mostWaiting) return found(LookupFault{"looking up " + host + " has not ended"});
  entry.waiting.push_back(found);
  if (!entry.running) start(host, entry);
}

void AddressBook::doubt(const std::string& host) {
  if (const auto known = entries_.find(host); known != entries_.end()) known->second.staleAt = {};
}

bool AddressBook::putLast(const std::string& host, const IpAddress& address) {
  const auto known = entries_.find(host);
  if (known == entries_.end()) return false;
  Addresses& all = known->second.addresses;
  if (const auto at = std::find(all.begin(), all.end(), address); at != all.end()) std::rotate(at, at + 1, all.end());
  return all.size() > 1;
}

void AddressBook::start(const std::string& host, Entry& entry) {
  entry.running = true;
  entry.hanging = false;
  if (!entry.addresses.empty()) alarms_.set(entry, alarms_.now() + patience);
  const auto report = [this, host](const LookupResult& result) { finish(host, result); };
  try {
    // getaddrinfo() cannot be ended from outside, so nobody waits for the thread. The thread owns everything that it
    // uses.
    detail::startDetachedThread("tenure-dns", [lookup = options_.lookup, post = options_.post, host, report] {
      post([report, result = lookup(host)] { report(result); });
    });
  } catch (const std::system_error& error) {
    options_.post([report, why = std::string{"no thread for a name lookup: "} + errnoText(error.code())] {
      report(LookupFault{why});
    });
  }
}

void AddressBook::finish(const std::string& host, const LookupResult& result) {
  Entry& entry = entries_[host];
  alarms_.clear(entry);
  entry.running = false;
  entry.hanging = false;
  if (result && !result->empty()) {
    // Known addresses keep their order: an address that failed stays last.
    Addresses merged;
    for (const IpAddress& old : entry.addresses) {
      if (std::find(result->begin(), result->end(), old) != result->end()) merged.push_back(old);
    }
    for (const IpAddress& one : *result) {
      if (std::find(merged.begin(), merged.end(), one) == merged.end()) merged.push_back(one);
    }
    entry.addresses = std::move(merged);
    entry.staleAt = alarms_.now() + options_.renewEvery;
    entry.failureUntil = {};
  } else {
    entry.failure = result ? "the name " + host + " has no address" : result.error().why;
    entry.failureUntil = alarms_.now() + failureKept;
  }
  answer(entry, entry.addresses.empty() ? LookupResult{LookupFault{entry.failure}} : LookupResult{entry.addresses});
}

void AddressBook::answer(Entry& entry, const LookupResult& result) {
  std::vector<Found> waiting;
  waiting.swap(entry.waiting);
  for (const Found& found : waiting) found(result);
}

void AddressBook::Entry::onAlarm() {
  hanging = true;
  answer(*this, Addresses{addresses});
}

}  // namespace tenure::net
