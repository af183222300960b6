// One thread, coroutines, streams with time-outs.
#pragma once

#include <cstddef>
#include <iterator>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace tenure::gateway {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
// NOLINTNEXTLINE(readability-identifier-naming): the name that Asio has for it
using tcp = asio::ip::tcp;
using boost::system::error_code;

using Executor = asio::io_context::executor_type;
template <class T>
using Task = asio::awaitable<T, Executor>;
using Stream = beast::basic_stream<tcp, Executor>;
using Timer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor>;

/// Errors are returned as values.
inline constexpr auto quietly = asio::as_tuple(asio::use_awaitable_t<Executor>{});

/// Bodies are forwarded in pieces of this size; no more of a message is ever in memory.
inline constexpr std::size_t pieceBytes = 8U << 10U;

/// The limit for a service's answer, the same as that of HAProxy and Node. A thousand answers at a time must not use up
/// the machine's memory.
inline constexpr std::size_t mostServiceHeaderBytes = 16U << 10U;

/// Each field costs memory and time besides its bytes; the time for writing many of them grows with the square of their
/// number.
inline constexpr std::size_t mostFields = 100;
inline constexpr std::size_t mostServiceFields = 100;
[[nodiscard]] inline std::size_t fieldsOf(const http::fields& fields) {
  return static_cast<std::size_t>(std::distance(fields.begin(), fields.end()));
}

/// The limit for parts that are read before they can be understood: a header, the extension of a chunk, the trailers as
/// a whole. A peer that sends more of one of them gets an error (buffer_overflow) instead of memory.
inline constexpr std::size_t beyondHeader = 4U << 10U;

}  // namespace tenure::gateway
