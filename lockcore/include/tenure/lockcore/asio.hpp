// For programs that have a Boost.Asio loop already: run the library's work on it. Opt-in: it sees Asio.
#pragma once

#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/runtime.hpp>

#ifdef BOOST_ASIO_NO_TYPEID
#error \
    "tenure's libraries are built with RTTI. Without it (-fno-rtti) Asio's executors are others, which they cannot use."
#endif

namespace tenure {

/// A scheduler on the caller's executor, e.g. `io.get_executor()`. Its tasks run on a strand of it, so the io_context
/// may be run by several threads. Keep it running and responsive: a blocked loop renews nothing. Leadership still ends
/// on time then: isLeader() reads the clock, and a thread of the library itself fires the stop token.
///
/// The execution context may be destroyed at any time, also while electors, clients and locks still have the scheduler:
/// what was to run there is destroyed with it. Join its threads first, as Asio asks.
[[nodiscard]] TENURE_API std::shared_ptr<Scheduler> makeAsioScheduler(boost::asio::any_io_executor executor);

}  // namespace tenure
