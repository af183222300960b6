// What the server's answers mean. Pure.
#pragma once

#include <string>
#include <string_view>

#include <tenure/lockcore/store_error.hpp>

#include "lockcore/aws/object_client.hpp"

namespace tenure::s3_fence {

struct ObjectAnswer {
  enum class Kind {
    done,
    absent,   ///< no such object
    empty,    ///< the object has no bytes, so there is no range of them
    refused,  ///< the condition does not hold (412), or somebody else writes just now (409): read again
    again,    ///< an error that may pass: repeat
    failed,   ///< an error that a repetition does not cure
  };

  Kind kind{Kind::failed};
  int status{0};                 ///< 0: there was no answer
  net::HttpResponse response{};  ///< for `done`
  StoreError error{};            ///< for all but `done`
  bool maybeDone{false};         ///< for `again` and `failed`: the server may have carried it out
};

/// `where`: the server, the bucket and the key, for people.
[[nodiscard]] ObjectAnswer answerOf(const std::string& where, aws::ObjectOutcome outcome);

/// `"9b2c"`: with quotes, and without anything that would make it several in a condition. Not `W/"9b2c"`, which other
/// bytes may have too.
[[nodiscard]] bool isStrongEtag(std::string_view etag) noexcept;

/// <Error><Code>SlowDown</Code>...: the text between the tags; empty if there are none.
[[nodiscard]] std::string_view textIn(std::string_view xml, std::string_view tag) noexcept;

}  // namespace tenure::s3_fence
