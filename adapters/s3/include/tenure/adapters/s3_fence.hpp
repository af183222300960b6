// A fenced writer for objects of S3 and of servers that speak its protocol, by conditional writes.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

namespace aws {
class ObjectClient;
}

struct S3FenceOptions {
  std::string bucket{};    ///< required
  std::string region{};    ///< empty: as the SDKs find it
  std::string endpoint{};  ///< empty: as the SDKs find it
  std::string profile{};
  std::string caFile{};
  /// True: https://endpoint/bucket/key. False: https://bucket.endpoint/key. Unset: false at AWS, unless the bucket's
  /// name has a dot in it; true at other endpoints.
  std::optional<bool> pathStyle{};
  /// A small object of the fence itself, with which it tests whether the server honours conditions at all.
  std::string probeKey{".tenure-fence-probe"};
  std::size_t maxObject{64U << 20U};                ///< bytes of one object; a write holds them twice in memory
  std::chrono::milliseconds timeout{10'000};        ///< of one call with all its repetitions; a day at most
  std::chrono::milliseconds requestTimeout{4'000};  ///< of one request
};

/// How a write is stored in the bucket.
enum class S3Form {
  oneObject,  ///< the object at the key: a header line of JSON, then the bytes
  pointer,    ///< the unchanged bytes are a separate object; the object at the key is the header line, which names it
};

struct S3Put {
  std::string key{};  ///< 1 to 1,024 bytes of UTF-8; 964 for a pointer
  std::string bytes{};
  S3Form form{S3Form::oneObject};
  std::string contentType{"application/octet-stream"};  ///< of the bytes' own object, so only for a pointer
};

/// The bytes that were read and the terms that belong to them, from one moment.
struct S3Object {
  std::string bytes{};
  std::vector<TermStamp> terms{};  ///< the highest seen of each lease
};

/// Keeps former leaders out of objects. The token is in the *bytes* of the object at the key, in a header line. It also
/// holds an id that no other write has, so each accepted write has its own ETag. (A token in the metadata would
/// not be enough: the ETag is a hash of the bytes, and a later term that writes the same bytes would not change it.) A
/// write reads header and ETag, compares, and puts with If-Match. If anything was written in between, the server
/// refuses the put with 412, and the comparison is repeated. The fence remembers what it wrote last, so further writes
/// are one request each.
///
/// Its scope is one lease and one key. Needs a server that honours If-Match and If-None-Match on PUT and judges them in
/// one step with the write: before its first write a fence tries both on `probeKey`, and refuses to work
/// (`misconfigured`) if the server accepts what it must refuse. An existing object without a header is not overwritten.
///
/// A lost reply (a timeout, a broken connection, status 5xx) is resolved by reading: the id in the header shows whether
/// the write was accepted. WriteError has `mayBeWritten` if that could not be determined in time. Such a write may
/// even be carried out after the call, as long as no other client has written the key. If a later term has written by
/// the time of the read, the answer is StaleToken, whether or not the lost write was accepted before.
///
/// Blocks; any thread.
class TENURE_API S3Fence {
 public:
  /// Makes no request. Throws std::invalid_argument if there is no bucket or `caFile` begins with `~`, and what
  /// aws::makeJsonClient throws.
  explicit S3Fence(S3FenceOptions options, Logger logger = {});
  S3Fence(S3FenceOptions options, std::shared_ptr<aws::ObjectClient> client);
  ~S3Fence();
  S3Fence(S3Fence&&) noexcept;
  S3Fence& operator=(S3Fence&&) noexcept;

  [[nodiscard]] FenceResult<void> write(const TermStamp& stamp, const S3Put& what);
  /// Checks the term again before each repetition, so that a write whose term has ended meanwhile is not repeated.
  [[nodiscard]] FenceResult<void> write(const FencedTerm& term, const S3Put& what);

  /// Empty if there is no object. An object without a fence's header is a `corrupt` error.
  [[nodiscard]] FenceResult<std::optional<S3Object>> read(const std::string& key);

  /// The stamp of a lease that the object at the key remembers.
  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& key, const std::string& lease);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
