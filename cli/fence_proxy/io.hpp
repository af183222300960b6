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

namespace tenure::cli::fence_proxy {

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

/// Errors come as values.
inline constexpr auto quietly = asio::as_tuple(asio::use_awaitable_t<Executor>{});

/// Bodies go through in pieces of this size; no more of a message is ever in memory.
inline constexpr std::size_t pieceBytes = 8U << 10U;

/// Of a service's answer: as much as HAProxy and Node take. A thousand answers at a time must not take what the machine
/// has.
inline constexpr std::size_t mostServiceHeaderBytes = 16U << 10U;

/// Each costs memory and time besides its bytes; writing many of them takes time that grows with their square.
inline constexpr std::size_t mostFields = 100;
inline constexpr std::size_t mostServiceFields = 100;
[[nodiscard]] inline std::size_t fieldsOf(const http::fields& fields) {
  return static_cast<std::size_t>(std::distance(fields.begin(), fields.end()));
}

/// What is read before it can be understood: a header, the extension of a chunk, the trailers as a whole. Whoever sends
/// more of one of them gets an error (buffer_overflow) instead of memory.
inline constexpr std::size_t beyondHeader = 4U << 10U;

}  // namespace tenure::cli::fence_proxy
