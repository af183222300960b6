// Internal: the addresses of names. They are looked up on separate threads.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>

#include "alarm_queue.hpp"
#include "ip_address.hpp"

namespace tenure::net {

using Addresses = std::vector<IpAddress>;

struct LookupFault {
  std::string why;  ///< a sentence without its end
};
[[noreturn]] TENURE_API void throw_exception_from_error(const LookupFault& fault, const boost::source_location& where);

using LookupResult = boost::system::result<Addresses, LookupFault>;

/// Blocks. Runs on a separate thread that nobody waits for.
using Lookup = std::function<LookupResult(const std::string& host)>;

/// getaddrinfo().
[[nodiscard]] TENURE_API LookupResult systemLookup(const std::string& host);

/// Belongs to the client's thread. At most one lookup of a name runs at a time.
class TENURE_API AddressBook {
 public:
  using Found = std::function<void(const LookupResult&)>;

  struct Options {
    Lookup lookup{systemLookup};
    std::chrono::nanoseconds renewEvery{std::chrono::seconds{60}};
    /// Passes a task to the client's thread, from any thread; no effect when the client is gone.
    std::function<void(std::function<void()>)> post{};
  };

  /// How long a caller waits for new addresses where old ones are known; then it gets the old ones.
  static constexpr std::chrono::milliseconds patience{200};
  /// How long the answer that there is no address is believed.
  static constexpr std::chrono::milliseconds failureKept{200};
  /// A look-up may hang for days, and who waited for it may be gone.
  static constexpr std::size_t mostWaiting = 1'024;

  AddressBook(AlarmQueue& alarms, Options options) : alarms_{alarms}, options_{std::move(options)} {}

  /// `found` may be called inside this call. It is never called if the lookup hangs and no address is known.
  void find(const std::string& host, const Found& found);

  /// No address of the host accepts connections any more: the next find() looks the name up again.
  void doubt(const std::string& host);

  /// From now on this address is tried after all others. False: there are no others.
  bool putLast(const std::string& host, const IpAddress& address);

 private:
  struct Entry final : Alarm {
    void onAlarm() override;

    AddressBook* book{nullptr};
    Addresses addresses{};
    std::chrono::nanoseconds staleAt{0};
    std::string failure{};
    std::chrono::nanoseconds failureUntil{0};
    bool running{false};
    bool hanging{false};  ///< has run longer than a caller with old addresses waits
    std::vector<Found> waiting{};
  };

  void start(const std::string& host, Entry& entry);
  void finish(const std::string& host, const LookupResult& result);
  static void answer(Entry& entry, const LookupResult& result);

  AlarmQueue& alarms_;
  Options options_;
  std::map<std::string, Entry> entries_{};
};

}  // namespace tenure::net
